"""Gains of ACC that the papers print for their parts, by method and by the name of the part in its table."""

GAINS: dict[str, dict[str, str]] = {
    "pcx": {
        "CI-Unit": "MNIST .034, Fashion .093 (Table 6)",
        "moving centroids": "MNIST .399, Fashion .160 (Table 6)",
    },
    "mvsib": {
        "disambiguation (CSD)": "RGB-D .16, Hdigit .19, Prokaryotic .15 to .20, Cora .10, CCV .08 to .12 (Fig. 8)",
        "sample contrast (SCL)": "RGB-D and CCV about .20, Cora .20, Hdigit and Prokaryotic .10 to .20 (Fig. 9)",
        "curriculum": "RGB-D .06, Prokaryotic about .05, Hdigit .0015 (Fig. 10)",
        "small clusters (ISM)": "no ACC; silhouette on RGB-D .47 to .53 (Fig. 7)",
    },
}
