// The map: grey points, one thread round each group, a lasso, and the same points as a table.
import {h} from './ask.js';
import {$, $$, api, request} from './shell.js';

const LEAST = 40;           // rows of the table
const IN_HULL = .92;        // share of a group's points that its thread is tied round
const MOST_IN_HULL = 1500;  // points of a group from which its thread is drawn
const MOST_HULLS = 60;

/** Convex hull of indices into x and y. */
function hull(x, y, list) {
  const sorted = list.slice().sort((a, b) => x[a] - x[b] || y[a] - y[b]);
  const cross = (o, a, b) => (x[a] - x[o]) * (y[b] - y[o]) - (y[a] - y[o]) * (x[b] - x[o]);
  const half = many => {
    const out = [];
    for (const p of many) {
      while (out.length > 1 && cross(out.at(-2), out.at(-1), p) <= 0) out.pop();
      out.push(p);
    }
    out.pop();
    return out;
  };
  return [...half(sorted), ...half(sorted.reverse())];
}

/** The threads: of each group, round the points near its middle about which the model is sure. */
function threads(points) {
  const {x, y, group, line, n} = points, members = new Map();
  for (let i = 0; i < n; i++) {
    if (group[i] < 0) continue;
    if (!members.has(group[i])) members.set(group[i], []);
    members.get(group[i]).push(i);
  }
  const many = [...members].filter(([, list]) => list.length > 4).sort((a, b) => b[1].length - a[1].length);
  return many.slice(0, MOST_HULLS)
    .map(([id, list]) => {
      const step = Math.ceil(list.length / MOST_IN_HULL), some = list.filter((_, k) => k % step === 0);
      const sure = some.filter(i => line[i] !== 'd'), core = sure.length > 4 ? sure : some;
      const mx = core.reduce((sum, i) => sum + x[i], 0) / core.length;
      const my = core.reduce((sum, i) => sum + y[i], 0) / core.length;
      const far = i => Math.hypot(x[i] - mx, y[i] - my);
      const near = core.map(i => [far(i), i]).sort((a, b) => a[0] - b[0]);
      const kept = near.slice(0, Math.max(5, Math.ceil(near.length * IN_HULL))).map(one => one[1]);
      return {group: id, n: list.length, hull: hull(x, y, kept)};
    })
    .filter(one => one.hull.length > 2);
}

/** Numbers between 0 and 1 in place of coordinates. */
function scaled(values) {
  let low = Infinity, high = -Infinity;
  for (const v of values) {
    if (v < low) low = v;
    if (v > high) high = v;
  }
  return Float32Array.from(values, v => (v - low) / (high - low || 1));
}

/** Draws the map into a canvas; `gallery` has picks, pick, chosen, nameOf and t. */
export function showMap(canvas, {picks, pick, chosen, nameOf, t}) {
  const ctx = canvas.getContext('2d'), still = document.createElement('canvas'), view = {k: 1, x: 0, y: 0};
  let points = null, hulls = [], order = [], W = 0, H = 0, dpr = 1, lasso = [], tool = 'lasso', colors = {};
  const X = i => (points.x[i] * .92 + .04) * W * view.k + view.x;
  const Y = i => (points.y[i] * .9 + .05) * H * view.k + view.y;

  // --- drawing: what does not change while a lasso is drawn is kept in `still`
  function color(name) {
    const probe = h('i');
    probe.style.color = `var(${name})`;
    document.body.append(probe);
    const value = getComputedStyle(probe).color;
    probe.remove();
    return value;
  }
  function size() {
    const box = canvas.getBoundingClientRect();
    dpr = devicePixelRatio || 1;
    [W, H] = [box.width, box.height];
    for (const one of [canvas, still]) [one.width, one.height] = [W * dpr, H * dpr];
    const names = ['ink', 'ink-3', 'thread', 'card'];
    colors = Object.fromEntries(names.map(name => [name, color(`--${name}`)]));
  }
  /** Writes points as pixels: a hundred thousand of them in a few milliseconds. */
  function dots(pen) {
    const image = pen.getImageData(0, 0, still.width, still.height), width = still.width,
          height = still.height;
    const pixels = new Uint32Array(image.data.buffer);
    const packed = name => {
      const [r, g, b] = colors[name].match(/[\d.]+/g).map(Number);
      return (255 << 24 | b << 16 | g << 8 | r) >>> 0;
    };
    const grey = packed('ink-3'), ink = packed('ink'), chosenColor = packed('thread');
    const side = Math.max(2, Math.round(2 * dpr)), arm = Math.round(3 * dpr);
    const set = (px, py, value) => {
      if (px >= 0 && py >= 0 && px < width && py < height) pixels[py * width + px] = value;
    };
    for (let i = 0; i < points.n; i++) {
      const px = Math.round(X(i) * dpr), py = Math.round(Y(i) * dpr);
      if (px < -arm || py < -arm || px > width + arm || py > height + arm) continue;
      const isChosen = picks.size && picks.has(points.ids[i]);
      if (points.line[i] === 'd') {
        for (let d = -arm; d <= arm; d++) {
          set(px + d, py + d, isChosen ? chosenColor : ink);
          set(px + d, py - d, isChosen ? chosenColor : ink);
        }
      } else {
        const value = isChosen ? chosenColor : grey, half = isChosen ? side : side >> 1;
        for (let a = -half; a <= half; a++)
          for (let b = -half; b <= half; b++) set(px + a, py + b, value);
      }
    }
    pen.putImageData(image, 0, 0);
  }
  function tieThreads(pen) {
    pen.lineJoin = pen.lineCap = 'round';
    pen.strokeStyle = colors.thread;
    pen.lineWidth = 1.5;
    for (const {hull: q} of hulls) {
      const middle = (a, b) => [(X(a) + X(b)) / 2, (Y(a) + Y(b)) / 2];
      pen.beginPath();
      pen.moveTo(...middle(q[0], q[1]));
      for (let i = 1; i <= q.length; i++) {
        const p = q[i % q.length];
        pen.quadraticCurveTo(X(p), Y(p), ...middle(p, q[(i + 1) % q.length]));
      }
      pen.stroke();
    }
  }
  function knotsAndNames(pen) {
    pen.strokeStyle = colors.ink;
    pen.lineWidth = 2;
    for (const i of points.knots) {
      pen.beginPath();
      pen.arc(X(i), Y(i), 5, 0, 7);
      pen.fillStyle = colors.card;
      pen.fill();
      pen.stroke();
    }
    pen.font = `600 13px ${getComputedStyle(document.body).fontFamily}`;
    pen.textAlign = 'center';
    pen.textBaseline = 'middle';
    for (const one of hulls) {
      const top = one.hull.reduce((a, b) => points.y[b] < points.y[a] ? b : a);
      const words = `${nameOf(one.group)} (${one.n.toLocaleString('en')})`,
            w = pen.measureText(words).width + 14;
      const x = Math.min(W - w / 2, Math.max(w / 2, X(top))), y = Math.max(14, Y(top) - 16);
      pen.fillStyle = colors.card;
      pen.fillRect(x - w / 2, y - 11, w, 22);
      pen.fillStyle = colors.ink;
      pen.fillText(words, x, y);
    }
  }
  function draw() {
    if (!W) size();
    const pen = still.getContext('2d', {willReadFrequently: true});
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.clearRect(0, 0, still.width, still.height);
    dots(pen);
    pen.setTransform(dpr, 0, 0, dpr, 0, 0);
    tieThreads(pen);
    knotsAndNames(pen);
    show();
  }
  function show() {
    ctx.setTransform(1, 0, 0, 1, 0, 0);
    ctx.clearRect(0, 0, canvas.width, canvas.height);
    ctx.drawImage(still, 0, 0);
    if (lasso.length < 2) return;
    ctx.setTransform(dpr, 0, 0, dpr, 0, 0);
    ctx.strokeStyle = colors.ink;
    ctx.lineWidth = 1.5;
    ctx.setLineDash([5, 4]);
    ctx.beginPath();
    lasso.forEach((q, i) => i ? ctx.lineTo(q[0], q[1]) : ctx.moveTo(q[0], q[1]));
    ctx.closePath();
    ctx.stroke();
    ctx.setLineDash([]);
  }
  let due = 0;
  const soon = what => {
    due ||= requestAnimationFrame(() => {
      due = 0;
      what();
    });
  };

  // --- choosing
  function inLasso() {
    const xs = lasso.map(q => q[0]), ys = lasso.map(q => q[1]);
    const [x0, x1, y0, y1] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    const isInside = (x, y) => {
      let on = false;
      for (let i = 0, j = lasso.length - 1; i < lasso.length; j = i++) {
        const [a, b] = lasso[i], [c, d] = lasso[j];
        if (b > y !== d > y && x < (c - a) * (y - b) / (d - b) + a) on = !on;
      }
      return on;
    };
    for (let i = 0; i < points.n; i++) {
      const x = X(i), y = Y(i);
      if (x >= x0 && x <= x1 && y >= y0 && y <= y1 && isInside(x, y))
        picks.set(points.ids[i], points.group[i]);
    }
  }
  function table() {
    const rows = [];
    for (let k = 0; k < order.length && rows.length < LEAST; k++)
      if (!picks.size || picks.has(points.ids[order[k]])) rows.push(order[k]);
    const n = picks.size || rows.length;
    $('#twin-note').textContent = picks.size > LEAST ? t('map.least.chosen', {n}) :
      picks.size                                     ? t('pick.chosen', {n}) :
                                                       t('map.least', {n});
    $('#twin-body').replaceChildren(...rows.map(i => {
      const id = points.ids[i], box = {type: 'checkbox', checked: picks.has(id)};
      const check = h('input', {...box, 'aria-label': t('map.choose', {id})});
      check.addEventListener('change', () => {
        pick(id, points.group[i], check.checked);
        chosen();
        soon(draw);
      });
      return h('tr', {}, h('td', {}, h('label', {class: 'check'}, check)),
        h('td', {class: 'mono', dir: 'auto'}, id),
        h('td', {dir: 'auto'},
          `${nameOf(points.group[i])}${points.line[i] === 'd' && points.group[i] >= 0 ? ' ×' : ''}`),
        h('td', {class: 'num'}, `${Math.round(100 * points.sure[i])} %`));
    }));
  }

  // --- the hand
  let down = null;
  canvas.addEventListener('pointerdown', event => {
    if (!points) return;
    down = [event.offsetX, event.offsetY];
    if (tool === 'lasso') lasso = [down];
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener('pointermove', event => {
    if (!down) return;
    if (tool === 'lasso') {
      lasso.push([event.offsetX, event.offsetY]);
      soon(show);
    } else {
      view.x += event.offsetX - down[0];
      view.y += event.offsetY - down[1];
      down = [event.offsetX, event.offsetY];
      soon(draw);
    }
  });
  canvas.addEventListener('pointerup', () => {
    down = null;
    if (tool !== 'lasso' || !points) return;
    picks.clear();
    if (lasso.length > 2) inLasso();
    if (!picks.size) lasso = [];
    draw();
    table();
    chosen();
  });
  function zoom(factor, x, y) {
    const k = Math.min(40, Math.max(.5, view.k * factor));
    view.x = x - (x - view.x) * k / view.k;
    view.y = y - (y - view.y) * k / view.k;
    view.k = k;
    soon(draw);
  }
  canvas.addEventListener('wheel', event => {
    event.preventDefault();
    zoom(Math.exp(-event.deltaY / 500), event.offsetX, event.offsetY);
  }, {passive: false});
  $$('[data-tool]').forEach(button => button.addEventListener('click', () => {
    const factor = {closer: 1.5, wider: 1 / 1.5}[button.dataset.tool];
    if (factor) return zoom(factor, W / 2, H / 2);
    tool = button.dataset.tool;
    $$('[data-tool][aria-pressed]').forEach(one => one.setAttribute('aria-pressed', one === button));
  }));
  addEventListener('resize', () => {
    if (!points) return;
    size();
    draw();
  });

  // --- points in
  async function load() {
    const started = performance.now();
    let found;
    try {
      found = await request(`${api}/map`);
    } catch (problem) {
      $('#map-state').textContent = problem.message;
      return;
    }
    if (!found.ids.length) return setTimeout(load, 3000);  // the worker draws it when people rest
    const arrived = performance.now(), {ids, groups, confidence, lines} = found, n = ids.length;
    const knots = [...lines].flatMap((one, i) => one === 'k' ? [i] : []);
    points =
      {n, ids, x: scaled(found.x), y: scaled(found.y), group: groups, sure: confidence, line: lines, knots};
    order = Uint32Array.from({length: n}, (_, i) => i).sort((a, b) => confidence[a] - confidence[b]);
    hulls = threads(points);
    $('#map-state').hidden = true;
    size();
    draw();
    table();
    canvas.dataset.drawn = Math.round(performance.now() - arrived);
    canvas.dataset.loaded = Math.round(arrived - started);
  }
  load();
  return {
    clear() {
      lasso = [];
      if (!points) return;
      draw();
      table();
    }
  };
}
