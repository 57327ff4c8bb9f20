// Dots on a canvas: written pixel by pixel, for plotly's WebGL dots need `unsafe-eval`, which the page's policy forbids.

const CELLS_PER_ROOT = 2;
const MARGIN = 24;

// How far from its middle a dot reaches, in pixels of the page.
export function radiusOf(count) {
  if (count <= 2000) return 3.6;
  return count <= 20000 ? 2.6 : 1.7;
}

function hexadecimal(colour) {
  return [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
}

// The colour of each value on a scale of steps or of mixtures; values that are not known have none.
export function paints(marker) {
  const { colorscale, cmin, cmax } = marker;
  const stops = colorscale.map(([at, colour]) => [at, hexadecimal(colour)]);
  const known = new Map();
  const mix = (value) => {
    const at = Math.min(1, Math.max(0, (value - cmin) / (cmax - cmin)));
    let next = stops.findIndex(([edge]) => edge > at);
    if (next < 0) next = stops.length - 1;
    const [low, first] = stops[Math.max(0, next - 1)];
    const [high, second] = stops[next];
    const share = high > low ? (at - low) / (high - low) : 1;
    return first.map((part, i) => Math.round(part + share * (second[i] - part)));
  };
  return marker.color.map((value) => {
    if (value === null) return null;
    if (!known.has(value)) known.set(value, mix(value));
    return known.get(value);
  });
}

// The pixels of a disc around its middle and how much of each it covers.
function disc(radius) {
  const pixels = [];
  const reach = Math.ceil(radius);
  for (let y = -reach; y <= reach; y += 1) {
    for (let x = -reach; x <= reach; x += 1) {
      const cover = Math.min(1, Math.max(0, radius + 0.5 - Math.hypot(x, y)));
      if (cover > 0) pixels.push([x, y, cover]);
    }
  }
  return pixels;
}

// Where points of the data lie on the screen.
export class Camera {
  constructor() {
    this.scale = 1;
    this.x = 0;
    this.y = 0;
    this.width = 1;
    this.height = 1;
  }

  fit(points) {
    const [left, right] = extent(points.x);
    const [low, high] = extent(points.y);
    this.x = (left + right) / 2;
    this.y = (low + high) / 2;
    const across = Math.max(50, this.width - 2 * MARGIN) / (right - left || 1);
    this.scale = Math.min(across, Math.max(50, this.height - 2 * MARGIN) / (high - low || 1));
  }

  place(x, y) {
    return [this.width / 2 + (x - this.x) * this.scale, this.height / 2 - (y - this.y) * this.scale];
  }

  point(left, top) {
    return [this.x + (left - this.width / 2) / this.scale, this.y - (top - this.height / 2) / this.scale];
  }

  // Zoom around a place of the screen, which stays where it is.
  zoom(factor, left, top) {
    const [x, y] = this.point(left, top);
    this.scale *= factor;
    const [newX, newY] = this.point(left, top);
    this.x += x - newX;
    this.y += y - newY;
  }

  move(right, down) {
    this.x -= right / this.scale;
    this.y += down / this.scale;
  }
}

function extent(values) {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    if (value === null) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low > high ? [0, 1] : [low, high];
}

// Points in the cells of a grid, so that the nearest one is found among a few.
export class Grid {
  constructor(points) {
    this.points = points;
    [this.left, this.right] = extent(points.x);
    [this.low, this.high] = extent(points.y);
    this.side = Math.max(1, Math.round(Math.sqrt(points.x.length) / CELLS_PER_ROOT));
    this.cells = new Map();
    points.x.forEach((x, i) => {
      if (x === null) return;
      const cell = this.column(x) + this.side * this.line(points.y[i]);
      if (this.cells.has(cell)) this.cells.get(cell).push(i);
      else this.cells.set(cell, [i]);
    });
  }

  column(x) {
    return Math.min(this.side - 1, Math.max(0, Math.floor((this.side * (x - this.left)) / (this.right - this.left || 1))));
  }

  line(y) {
    return Math.min(this.side - 1, Math.max(0, Math.floor((this.side * (y - this.low)) / (this.high - this.low || 1))));
  }

  nearest(x, y, reach) {
    let best = null;
    let least = reach * reach;
    for (let line = this.line(y - reach); line <= this.line(y + reach); line += 1) {
      for (let column = this.column(x - reach); column <= this.column(x + reach); column += 1) {
        for (const i of this.cells.get(column + this.side * line) || []) {
          const away = (this.points.x[i] - x) ** 2 + (this.points.y[i] - y) ** 2;
          if (away <= least) [best, least] = [i, away];
        }
      }
    }
    return best;
  }
}

// The points inside an outline, by the number of its edges that a ray to the right crosses.
export function inside(points, outline) {
  const [left, right] = extent(outline.map(([x]) => x));
  const [low, high] = extent(outline.map(([, y]) => y));
  return points.x.flatMap((x, i) => {
    const y = points.y[i];
    if (x === null || x < left || x > right || y < low || y > high) return [];
    let within = false;
    for (let a = 0, b = outline.length - 1; a < outline.length; b = a, a += 1) {
      const [ax, ay] = outline[a];
      const [bx, by] = outline[b];
      if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) within = !within;
    }
    return within ? [i] : [];
  });
}

// Writes dots into the pixels of a canvas.
export class Painter {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
  }

  clear(background, density) {
    const { width, height } = this.canvas;
    this.density = density;
    this.context.fillStyle = background;
    this.context.fillRect(0, 0, width, height);
    this.image = this.context.getImageData(0, 0, width, height);
  }

  dots(positions, points, camera, colours, radius, opacity) {
    const { width, height } = this.canvas;
    const pixels = this.image.data;
    const shape = disc(radius * this.density);
    for (const i of positions) {
      const colour = colours[i];
      if (colour === null || points.x[i] === null) continue;
      const [left, top] = camera.place(points.x[i], points.y[i]);
      const middle = Math.round(left * this.density);
      const line = Math.round(top * this.density);
      if (middle < -20 || middle > width + 20 || line < -20 || line > height + 20) continue;
      for (const [right, down, cover] of shape) {
        const x = middle + right;
        const y = line + down;
        if (x < 0 || x >= width || y < 0 || y >= height) continue;
        const at = 4 * (y * width + x);
        const share = cover * opacity;
        pixels[at] += (colour[0] - pixels[at]) * share;
        pixels[at + 1] += (colour[1] - pixels[at + 1]) * share;
        pixels[at + 2] += (colour[2] - pixels[at + 2]) * share;
      }
    }
  }

  show() {
    this.context.putImageData(this.image, 0, 0);
  }
}
