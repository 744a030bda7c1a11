// The asking module: one question a screen, and no answer lost.
//
// mount(root, transport, options) draws into `root` and speaks to `transport`, so that the page (HTTP),
// a notebook (anywidget) and the practice run (nothing) ask in the same way. An answer goes to the outbox
// first, the next question is painted at once, and "saved" is said when the server has said so.

const SVG = 'http://www.w3.org/2000/svg';
const AHEAD = 4;     // questions held ahead, their media decoded
const BEHIND = 20;   // answers to be learned, from which on the page says so
const DWELL = 200;   // ms after painting before a press is an answer: nobody decides faster
const AT_ONCE = 50;  // answers in one request
const SMALL = 360;   // pixels up to which pictures are shown larger than they are
const {freeze} = Object;
const DIGITS = freeze({1: '1s', 2: '2d', 3: '3', 4: '4', 5: '5', 6: '6', 7: '7', 8: '8'});
const TOOLS = freeze({undo: 'u', flag: 'f', note: 'n', zoom: 'z', sound: 'a ', guide: 'g', help: '?'});
const KEYS = freeze({...DIGITS, unsure: '0k', send: 'enter', ...TOOLS});
const LISTED = ['1', '2', '3', '4', 'unsure', 'send', 'undo', 'zoom', 'sound', 'flag', 'note', 'guide'];
const STEPS = freeze({arrowleft: [-.05, 0], arrowright: [.05, 0], arrowup: [0, -.05], arrowdown: [0, .05]});
const TAGS = freeze({pair: 'AB', triplet: 'ABC', odd_one_out: '123'});
const FAILURES = freeze({offline: [502, 504], busy: [429, 503], ended: [401], storage: [507], stale: [409]});

export function h(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value == null) continue;
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? '' : value);
  }
  node.append(...children.filter(child => child != null && child !== false));
  return node;
}
export function s(tag, attributes = {}, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}
export const icon = (name, cls = 'ico') =>
  s('svg', {class: cls, 'aria-hidden': 'true'}, s('use', {href: `#${name}`}));
export const uuid = () => {
  const b = crypto.getRandomValues(new Uint8Array(16));
  b[6] = b[6] & 15 | 64;
  b[8] = b[8] & 63 | 128;
  return [...b].map(x => x.toString(16).padStart(2, '0')).join('');
};
export function translator(strings) {
  return (key, values = {}) => {
    let text = strings[key] ?? key;
    if (typeof text === 'object') text = values.n === 1 ? text.one : text.other;
    return text.replace(/\{(\w+)\}/g,
      (_, name) => typeof values[name] === 'number' ? values[name].toLocaleString('en') : values[name] ?? '');
  };
}
/** What this browser keeps of a person's wishes; null in a private window. */
export const stored = name => {
  try {
    return localStorage.getItem(name);
  } catch { return null; }
};

/**
 * A form in a dialog that is gone when it is closed: `act` does what its main button says; what it throws
 * stands in the dialog.
 */
export function openForm(parent, name, heading, body, {go, cancel}, act = () => {}) {
  const error = h('p', {class: 'error', role: 'alert'}), main = h('button', {class: 'btn main'}, go);
  const form = h('form', {class: 'stack'}, ...body, error,
    h('div', {class: 'row'},
      cancel && h('button', {class: 'btn', type: 'button', onclick: () => box.close()}, cancel), main));
  const box =
    h('dialog', {'aria-labelledby': `${name}-h`}, h('h2', {id: `${name}-h`, dir: 'auto'}, heading), form);
  box.addEventListener('close', () => box.remove());
  form.addEventListener('submit', async event => {
    event.preventDefault();
    if (main.disabled) return;
    main.disabled = true;
    try {
      await act(form);
      box.close();
    } catch (problem) {
      error.textContent = problem.message;
      main.disabled = false;
    }
  });
  parent.append(box);
  box.showModal();
  return box;
}

// ---------------------------------------------------------------- transports

/** A failed request: `kind` is offline, busy, ended, storage, stale or refused; `wait` seconds. */
export const failure = (kind, message, wait = 0) => Object.assign(new Error(message), {kind, wait});
export async function request(url, method = 'GET', body = undefined) {
  const json = {headers: {'Content-Type': 'application/json'}, body: JSON.stringify(body)};
  let reply;
  try {
    reply = await fetch(url, {method, credentials: 'same-origin', ...(body !== undefined && json)});
  } catch (error) { throw failure('offline', error.message); }
  if (reply.ok) return reply.status === 204 ? null : reply.json();
  const problem = await reply.json().catch(() => ({})), wait = Number(reply.headers.get('Retry-After')) || 0;
  const kind = Object.keys(FAILURES).find(one => FAILURES[one].includes(reply.status)) ?? 'refused';
  throw failure(kind, problem.detail ?? problem.title ?? `${reply.status}`, wait);
}
export function httpTransport(base) {
  const api = `${base}/api/v1`;
  return {
    lease: (n, keep, have) => request(`${api}/questions:lease`, 'POST', {n, keep, have}),
    send: (answers, n, keep, have) => request(`${api}/answers`, 'POST', {answers, n, keep, have}),
    earlier: before =>
      request(`${api}/answers?mine=true&standing=true&limit=20${before ? `&before=${before}` : ''}`),
    release: tokens => navigator.sendBeacon?.(
      `${api}/questions:release`, new Blob([JSON.stringify({tokens})], {type: 'application/json'})),
    events(tell) {
      const source = new EventSource(`${api}/events`);
      source.addEventListener('revision', event => tell(JSON.parse(event.data)));
      return () => source.close();
    },
  };
}

// ---------------------------------------------------------------- the outbox

/** Answers that wait for the server, in IndexedDB; one box for each project and person. */
export async function openOutbox(name) {
  const db = await new Promise((resolve, reject) => {
    const opening = indexedDB.open(name, 1);
    opening.onupgradeneeded = () =>
      opening.result.createObjectStore('entries', {keyPath: 'seq', autoIncrement: true});
    opening.onsuccess = () => resolve(opening.result);
    opening.onerror = () => reject(opening.error);
  }).catch(() => null);  // a private window without storage
  const act = (mode, work, durability = 'relaxed') => db && new Promise((resolve, reject) => {
    const step = db.transaction('entries', mode, {durability}), job = work(step.objectStore('entries'));
    step.oncomplete = () => resolve(job?.result);
    step.onerror = () => reject(step.error);
  });
  return makeOutbox(await act('readonly', store => store.getAll()) ?? [], act);
}
/** The same, in memory alone unless `act` writes to a database. */
const makeOutbox = (rows = [], act = () => null) => ({
  rows,
  answers: (gone = rows.map(row => row.entry.revokes)) =>  // those that were not taken back
    rows.filter(row => row.question && !gone.includes(row.entry.submission_id)),
  add(row, isAlone = false) {  // the only copy, without a connection: flushed to disk at once
    rows.push(row);
    const kept = {entry: row.entry, question: row.question};
    row.writing = Promise.resolve(act('readwrite', store => store.add(kept), isAlone ? 'strict' : 'relaxed'))
                    .then(seq => { row.seq = seq ?? undefined; })
                    .catch(() => {});
  },
  async drop(gone) {  // nobody waits for it: what is not dropped is sent again, and known by its id
    for (const row of gone) rows.splice(rows.indexOf(row), 1);
    await Promise.all(gone.map(row => row.writing));
    const seqs = gone.map(row => row.seq).filter(seq => seq !== undefined);
    if (seqs.length) await act('readwrite', store => seqs.forEach(seq => store.delete(seq)))?.catch(() => {});
  },
});

// ---------------------------------------------------------------- drawing items

const shuffled = list =>
  list.map(one => [Math.random(), one]).sort((a, b) => a[0] - b[0]).map(([, one]) => one);
const picture = (url, alt) => {
  const img = new Image();
  Object.assign(img, {alt, draggable: false, src: url});
  return img;
};
/** Shows a small picture larger, so that people need not bend over it. */
function grow(img) {
  const {naturalWidth: w, naturalHeight: h} = img, factor = Math.min(3, SMALL / Math.max(w, h));
  if (factor > 1) img.style.width = `min(${Math.round(w * factor)}px, (var(--tall)) * ${w / h})`;
}
const textOf = item =>
  item.text ?? (item.columns ?? []).map(([name, value]) => `${name}: ${value}`).join('\n');
const named = (item,
  tag) => [h('span', {class: 'tag'}, tag), item.name && h('span', {class: 'name', dir: 'auto'}, item.name)];

/** Draws one item large; returns its node and a promise that holds when its media are decoded. */
function drawItem(item, tag, t, actions) {
  const broken = (node, place) => () => {
    node.classList.add('is-broken');
    place.replaceChildren(h('p', {class: 'broken'}, icon('off'), h('span', {}, t('ask.broken', {tag}))));
  };
  const draw = {image: drawImage, sound: drawSound}[item.kind] ?? drawText;
  return draw(item, tag, t, actions, broken);
}
function drawImage(item, tag, t, {zoom}, broken) {
  const img = picture(item.url, t('item.image', {tag}));
  img.dataset.full = item.url.replace(/size=\w+/, 'size=full');
  const shot = h('div', {class: 'shot'}, img, h('span', {class: 'eye'}));
  const look = {class: 'zoom-btn', type: 'button', 'aria-label': t('ask.zoom'), onclick: zoom.toggle};
  const node = h('figure', {class: 'card'}, shot,
    h('figcaption', {}, ...named(item, tag), h('button', look, icon('zoom'))));
  shot.addEventListener('click', zoom.toggle);
  shot.addEventListener('pointermove', event => zoom.at(event, shot));
  return {node, ready: img.decode().then(() => grow(img)).catch(broken(node, shot))};
}
function drawSound(item, tag, t, {sounds}, broken) {
  const audio = new Audio(item.sound), img = picture(item.url, t('item.spectrogram', {tag}));
  audio.preload = 'auto';
  const line = h('span', {class: 'head-line'}), time = h('span', {class: 'faint mono'}, '0:00.0');
  const range =
    h('input', {type: 'range', min: 0, max: 1000, value: 0, 'aria-label': t('ask.position', {tag})});
  const button =
    h('button', {class: 'btn round', type: 'button', 'aria-label': t('ask.play', {tag})}, icon('play'));
  const spec = h('div', {class: 'spec'}, img, line);
  const node = h('figure', {class: 'card paper sound'}, spec,
    h('div', {class: 'player'}, button, range, time, ...named(item, tag)));
  const show = () => {
    const at = audio.currentTime, share = at / (audio.duration || 1);
    range.value = 1000 * share;
    line.style.insetInlineStart = `${100 * share}%`;
    time.textContent = `${Math.floor(at / 60)}:${(at % 60).toFixed(1).padStart(4, '0')}`;
  };
  const follow = () => {
    show();
    if (!audio.paused && node.isConnected) requestAnimationFrame(follow);
  };
  const on = (name, act) => audio.addEventListener(name, act);
  on('timeupdate', show);
  on('play', () => {
    button.classList.add('is-on');
    follow();
  });
  on('pause', () => button.classList.remove('is-on'));
  on('ended', () => sounds.ended(node));
  on('error', broken(node, spec));
  button.addEventListener('click', () => sounds.play(node));
  range.addEventListener('input', () => {
    audio.currentTime = range.value / 1000 * (audio.duration || 0);
    show();
  });
  node.audio = audio;
  return {node, ready: img.decode().catch(broken(node, spec))};
}
function drawText(item, tag, t) {
  const field = ([name, value]) => h('div', {}, h('dt', {}, name), h('dd', {dir: 'auto'}, value ?? ''));
  const place = {tabindex: 0, role: 'region', 'aria-label': t(`item.${item.kind}`, {tag})};
  const body = item.kind === 'text' ?
    h('div', {class: 'prose', dir: 'auto', ...place}, item.text ?? '') :
    h('div', {class: 'fields', ...place}, h('dl', {}, ...(item.columns ?? []).map(field)));
  const node = h('article', {class: 'card paper'}, body, h('p', {class: 'cap-row'}, ...named(item, tag)));
  return {node, ready: Promise.resolve()};
}
/** Draws one item small, among others. */
function thumb(item, label, t) {
  if (item.kind !== 'image' && item.kind !== 'sound')
    return {node: h('span', {class: 'scrap', dir: 'auto'}, textOf(item)), ready: Promise.resolve()};
  const node = picture(item.url, label);
  const broken = () => node.replaceWith(h('span', {class: 'broken'}, t('ask.broken.short')));
  return {node, ready: node.decode().catch(broken)};
}

/** Rows side by side in one table; for two, equal values are marked. */
function drawRows(items, tags, t) {
  const names = [...new Set(items.flatMap(item => item.columns.map(([name]) => name)))];
  const tables = items.map(item => Object.fromEntries(item.columns)), two = items.length === 2;
  const hidden = key => h('span', {class: 'sr'}, t(key));
  // with two of them, a sign stands between the columns
  const between = (cells, sign) => two ? [cells[0], sign(), cells[1]] : cells;
  const head = between(tags.map(tag => h('th', {scope: 'col'}, tag)),
    () => h('th', {class: 'sign', scope: 'col'}, hidden('ask.equal?')));
  const body = names.map(name => {
    const values = tables.map(table => table[name] ?? ''), [a, b] = values,
          equal = two && a === b;
    const cells = values.map((value, i) => h('td', {dir: 'auto', 'data-tag': tags[i]}, value));
    const sign = () => h('td', {class: 'sign'}, equal ? icon('same', 'link-ico') : '',
      hidden(equal ? 'ask.equal' : 'ask.unequal'));
    return h('tr', {class: equal ? 'eq' : ''}, h('th', {scope: 'row'}, name), ...between(cells, sign));
  });
  const table = h('table', {class: two ? 'rows' : 'rows many'},
    h('thead', {}, h('tr', {}, h('th', {scope: 'col'}, hidden('ask.field')), ...head)),
    h('tbody', {}, ...body));
  return h('div', {class: 'rows-wrap', tabindex: 0, role: 'region', 'aria-label': t('ask.rows')}, table);
}

// ---------------------------------------------------------------- drawing questions

const TIE = {
  slack: 'M0 32C18 32 24 50 40 48S60 26 48 24 34 46 52 46 72 32 88 32',
  taut: 'M0 32H88',
  cut: 'M0 32H30M58 32H88M35 42l5-20M48 42l5-20',
  dots: 'M4 32H86'
};
const tie = () => s('svg', {class: 'tie', viewBox: '0 0 88 64', 'aria-hidden': 'true'},
  ...Object.entries(TIE).map(([cls, d]) => s('path', {class: cls, d})));
const fork = () =>
  s('svg', {class: 'tie y', viewBox: '0 0 100 56', preserveAspectRatio: 'none', 'aria-hidden': 'true'},
    s('path', {d: 'M50 0C50 44 24.5 12 24.5 56M50 0C50 44 75.5 12 75.5 56'}));

/**
 * Draws a whole question, in an order that is random unless it was shown before: its node, the items as
 * they are shown, what each is called, and a promise that holds when all media are decoded.
 */
function draw(q, t, actions) {
  const waits = [];
  const put = drawn => {
    waits.push(drawn.ready);
    return drawn.node;
  };
  if (q.order) q.shown = q.order.map(i => q.items[i]);
  if (q.kind === 'which_of') drawWhich(q, t, put, actions);
  else if (q.kind === 'confirm') drawConfirm(q, t, put, actions);
  else drawCards(q, t, put, actions);
  q.ready = Promise.all(waits);
  return q;
}
function drawWhich(q, t, put, actions) {
  q.shown ??= q.items;
  q.tags = ['A'];
  q.n_groups = q.parts.length - 1;
  let at = 1;
  const choices = q.parts.slice(1).map((size, g) => {
    const faces = q.items.slice(at, at + size).map((item, i) => {
      q.tags.push(t('item.example', {group: g + 1, i: i + 1}));
      return put(thumb(item, q.tags.at(-1), t));
    });
    at += size;
    return h('li', {class: 'card choice'}, h('div', {class: 'trio', 'data-n': size}, ...faces),
      h('p', {class: 'cap-row'}, h('span', {class: 'tag'}, `${g + 1}`)));
  });
  q.node =
    h('div', {class: 'set which'}, h('div', {class: 'slot'}, put(drawItem(q.items[0], 'A', t, actions))),
      h('ol', {class: 'choices', 'data-n': choices.length}, ...choices));
}
function drawConfirm(q, t, put, actions) {
  const n = q.parts[0];
  q.shown ??= [...q.items.slice(0, n), ...shuffled(q.items.slice(n))];
  q.ticked = new Set();
  q.tags = q.shown.map((_, i) => i < n ? t('item.example', {group: 1, i: i + 1}) : `${i - n + 1}`);
  const example = (item, i) => h('li', {class: 'knot'}, put(thumb(item, q.tags[i], t)));
  const member = (item, i) => {
    const act = {type: 'button', 'aria-pressed': 'false', onclick: () => actions.tick(item.id, button)};
    const button = h('button', {class: 'pick', ...act}, put(thumb(item, t('item.member', {i: i + 1}), t)),
      h('span', {class: 'tick'}, icon('diff', 'link-ico')), h('span', {class: 'tag'}, `${i + 1}`),
      h('span', {class: 'sr'}, t('confirm.not')));
    return h('li', {}, button);
  };
  q.node = h('div', {class: 'set confirm'},
    h('section', {class: 'stack', 'aria-label': t('confirm.examples')},
      h('ul', {class: 'strand', tabindex: 0}, ...q.shown.slice(0, n).map(example))),
    h('ol', {class: 'members'}, ...q.shown.slice(n).map(member)));
}
function drawCards(q, t, put, actions) {
  q.shown ??= q.kind === 'triplet' ? [q.items[0], ...shuffled(q.items.slice(1))] : shuffled(q.items);
  q.tags = [...TAGS[q.kind]];
  const tag = q.tags[q.shown.indexOf(q.items[0])];  // of the item that is shown with its group
  const example = (item, i) =>
    h('li', {class: 'knot'}, put(thumb(item, t('item.beside.one', {tag, i: i + 1}), t)));
  const beside = q.examples?.length > 0 &&
    h('div', {class: 'beside'}, h('p', {class: 'faint'}, t('item.beside', {tag})),
      h('ul', {class: 'strand'}, ...q.examples.map(example)));
  if (q.shown.every(item => item.kind === 'row' || item.kind === 'vector')) {
    q.node = h('div', {class: 'set one'}, drawRows(q.shown, q.tags, t), beside);
    return;
  }
  const [a, b, c] = q.shown.map((item, i) => h('div', {class: 'slot'},
                                  put(drawItem(item, q.tags[i], t, actions)), item === q.items[0] && beside));
  q.node = {
    pair: () => h('div', {class: 'set'}, a, tie(), b),
    triplet: () => h('div', {class: 'set fork'}, a, fork(), b, c),
    odd_one_out: () => h('div', {class: 'set three'}, a, b, c)
  }[q.kind]();
}

/** The buttons of a question: the answer, its key, what is said of it, its glyph, its class. */
function choicesOf(q, t) {
  const choice = (answer, key, said, glyph = '', cls = '') => ({answer, key, said, glyph, cls});
  const at = i => q.items.indexOf(q.shown[i]);
  const own = {
    pair: () => [choice('same', '1', t('answer.same'), 'same'),
      choice('different', '2', t('answer.different'), 'diff')],
    triplet:
      () => [choice(at(1), '1', t('answer.closer.B'), 'fb'), choice(at(2), '2', t('answer.closer.C'), 'fc')],
    odd_one_out:
      () => [...['first', 'second', 'third'].map((word, i) => choice(at(i), `${i + 1}`, t(`answer.${word}`))),
        choice('all_alike', '4', t('answer.alike'), '', 'none')],
    which_of: () => [...Array.from({length: q.n_groups},
                       (_, i) => choice(i, `${i + 1}`, t('answer.group', {n: i + 1}), '', 'digit')),
      choice('none_of_these', '7', t('answer.none'), '', 'none')],
    confirm: () => [choice('confirm', 'send', t('answer.confirm'), 'same')]
  };
  return [...own[q.kind](), choice('dont_know', 'unsure', t('answer.unsure'), 'unsure', 'unsure')];
}

/** Draws how far one is, on the thread: solid to now, dense dots to the low estimate, sparse beyond. */
function drawMeter(line, left) {
  const {answered, low, high} = left ?? {answered: 8, low: 0, high: 92};
  const total = answered + Math.max(high, 1), p = value => `${(100 * value / total).toFixed(2)}%`;
  const piece = (cls, x1, x2) => s('line', {class: cls, x1, x2, y1: 8, y2: 8});
  line.replaceChildren(piece('solid', '1', p(answered)),
    piece('dense', p(answered + total * .01), p(answered + Math.max(low, total * .01))),
    piece('sparse', p(answered + low), '100%'), s('circle', {class: 'knot', cx: p(answered), cy: 8, r: 5}));
}

/** Zoom: every picture at the same relative place. */
function zoomOf(main) {
  let x = .5, y = .5;
  const shots = () => [...main.querySelectorAll('.shot:has(img)')],
        isOn = () => main.classList.contains('is-zoomed');
  function aim(toX, toY) {
    [x, y] = [toX, toY].map(v => Math.min(1, Math.max(0, v)));
    for (const shot of shots()) {
      const [left, top] = [`${x * 100}%`, `${y * 100}%`];
      shot.querySelector('img').style.transformOrigin = `${left} ${top}`;
      Object.assign(shot.querySelector('.eye').style, {left, top});
    }
  }
  function sharpen(shot) {
    const img = shot.querySelector('img'), full = new Image();
    if (img.dataset.full === img.src || !img.dataset.full) return;
    full.src = img.dataset.full;
    full.decode().then(() => { img.src = full.src; }).catch(() => {});
  }
  return {
    isOn,
    off: () => main.classList.remove('is-zoomed'),
    step: (dx, dy) => aim(x + dx, y + dy),
    toggle() {
      if (!shots().length) return;
      main.classList.toggle('is-zoomed');
      aim(x, y);
      if (isOn()) shots().forEach(sharpen);
    },
    at(event, shot) {
      const box = shot.getBoundingClientRect();
      if (isOn()) aim((event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height);
    }
  };
}

/** Sounds: one at a time, one after the other. */
function soundsOf(stage) {
  let last = null;
  const all = () => [...stage.querySelectorAll('.sound')];
  const sounds = {
    silence() {
      all().forEach(node => node.audio.pause());
      last = null;
    },
    play(node) {
      const isOn = !node.audio.paused;
      sounds.silence();
      last = node;
      if (!isOn) node.audio.play().catch(() => {});
    },
    toggle() {
      const node = last ?? all()[0];
      if (node) sounds.play(node);
    },
    ended(node) {
      node.audio.currentTime = 0;
      const after = all()[all().indexOf(node) + 1];
      if (after)
        setTimeout(() => {
          if (after.isConnected && after.audio.paused) sounds.play(after);
        }, 400);
    }
  };
  return sounds;
}

// ---------------------------------------------------------------- the page

export const mount = (root, transport, options) => new Asking(root, transport, options);

/** The loop of questions and answers in `root`. */
class Asking {
  constructor(root, transport, options) {
    Object.assign(this, {root, transport, options});
    this.t = translator(options.strings);
    this.settings = options.settings ?? {};
    this.outbox = options.outbox ?? makeOutbox();
    this.keys = {...KEYS, ...options.keys};
    this.singleKeys = options.singleKeys ?? true;
    this.ahead = options.ahead ?? AHEAD;
    this.queue = [];      // questions that are drawn already
    this.now = null;      // the one on the screen
    this.painted = 0;     // when it could be seen
    this.mode = '';       // asking, or the name of a page without a question
    this.past = [];       // what was answered here, newest last: {id, question}
    this.last = null;     // how the thread looks for a moment, after an answer
    this.waiting = null;  // why answers wait: {kind, why}
    this.refused = '';    // why the last answer was not taken
    this.failures = this.retry = this.settled = 0;  // the last one: batches that arrived
    this.behind = options.behind ?? 0;
    this.answered = options.answered ?? 0;
    this.mine = options.mine;  // how many of them are this person's own
    this.progress = options.progress ?? null;
    this.gone = new Set(this.outbox.rows.map(row => row.entry.question_id));
    this.measured = root.measured = {next: [], saved: [], misses: 0};
    this.drawFrame();
    this.listen();
    this.begin();
  }

  // --- the frame, drawn once; the answer bar never moves
  drawFrame() {
    const {t} = this;
    this.live = h('p', {class: 'sr', 'aria-live': 'polite'});
    this.title = h('h1', {tabindex: -1, id: 'q', dir: 'auto'});
    this.hint = h('p');
    this.words = h('div', {class: 'ask-q'}, this.title, this.hint);
    this.strip = h('p', {class: 'note-strip', role: 'status', hidden: true});
    this.stage = h('div', {class: 'stage'});
    this.main = h('main', {class: 'ask', id: 'main', tabindex: -1}, this.words, this.strip, this.stage);
    this.lastSaid = h('span', {class: 'last', role: 'status'});
    this.done = h('span', {class: 'done'});
    this.left = h('span', {class: 'left'});
    this.line = s('svg', {class: 'line', 'aria-hidden': 'true'});
    this.answers = h('div', {class: 'answers'});
    this.zoom = zoomOf(this.main);
    this.sounds = soundsOf(this.stage);
    this.acts = {
      undo: () => this.undo(),
      flag: at => this.openFlag(at),
      note: () => this.openNote(),
      zoom: this.zoom.toggle,
      sound: this.sounds.toggle,
      guide: () => this.openGuide(),
      help: () => this.openKeys()
    };
    const tool = name => h('button', {
      class: `btn bare ${name}`,
      type: 'button',
      onclick: event => this.acts[name](event.timeStamp),
      'aria-keyshortcuts': this.keys[name][0]
    },
      icon(name), h('span', {class: 'lbl', 'aria-hidden': 'true'}, t(`tool.${name}`)),
      h('span', {class: 'sr'}, t(`tool.${name}.full`)), this.cap(name));
    this.bar = h('div', {class: 'bar', role: 'region', 'aria-label': t('ask.bar')},
      h('div', {class: 'bar-in'}, h('div', {class: 'meter'}, this.lastSaid, this.done, this.line, this.left),
        tool('undo'), this.answers, h('div', {class: 'tools'}, tool('flag'), tool('note'))));
    this.root.replaceChildren(this.main, this.bar, this.live);
  }
  /** The key of something, as a cap. */
  cap(name) {
    const key = this.keys[name];
    return this.singleKeys && h('kbd', {'aria-hidden': 'true'}, key === 'enter' ? '↵' : key[0].toUpperCase());
  }
  say(text) { this.live.textContent = text; }
  draw(q) {
    return draw(
      q, this.t, {zoom: this.zoom, sounds: this.sounds, tick: (id, button) => this.tick(id, button)});
  }
  held() { return [this.now, ...this.queue].filter(Boolean).map(q => q.question_id); }
  kept() { return (this.now ? [this.now.question_id] : []).filter(id => !id.startsWith('@')); }

  // --- what is said beside the question
  meter() {
    const {t, progress, answered, mine} = this, isKnown = progress?.low != null;
    if (this.options.isPractice) return this.strips();
    this.done.textContent = t(mine < answered ? 'meter.mine' : 'meter.answered', {n: answered, mine});
    drawMeter(this.line, isKnown ? progress : null);
    const {about, between, answered: at} = progress ?? {};
    const since = at === answered ? [] : [t('left.at', {n: at})];
    const [words, ...more] = isKnown ? [about, `(${between})`, ...since] :
      answered < 20                  ? [t('meter.early'), t('meter.early.from')] :
                                       [t('meter.estimating')];
    this.left.replaceChildren(words, ...more.map(one => h('span', {class: 'faint'}, ` ${one}`)));
    this.strips();
  }
  showLast(words = '', glyph = '') {
    clearTimeout(this.lastTimer);
    this.lastSaid.replaceChildren(...[glyph && icon(glyph, 'link-ico'), words && h('span', {}, words)]);
    if (words) this.lastTimer = setTimeout(() => this.showLast(), 4000);
  }
  strips() {
    const {t, outbox} = this, {kind, why} = this.waiting ?? {}, n = outbox.answers().length;
    const isBehind = this.behind >= BEHIND && this.mode === 'asking';
    const strips = {
      refused: () => ['flag', t('strip.refused', {why: this.refused})],
      offline: () => ['off', t('strip.offline', {n, left: this.queue.length})],
      busy: () => ['clock', t('strip.busy', {n, wait: Math.ceil(this.retry)})],
      storage: () => ['flag', t('strip.storage', {why})],
      told: () => this.told,
      behind: () => ['clock', t('strip.behind', {n: this.behind})]
    };
    const strip = strips[this.refused ? 'refused' : kind ?? (this.told ? 'told' : isBehind && 'behind')]?.();
    this.strip.hidden = !strip;
    this.main.classList.toggle('has-strip', Boolean(strip));
    if (strip) this.strip.replaceChildren(icon(strip[0]), h('span', {}, strip[1]));
    this.options.onSaved?.(n, kind, outbox.rows.length);
  }

  // --- painting
  async next(pressed = 0) {
    if (this.closed) return;
    this.now = null;
    if (!this.queue.length) {
      this.measured.misses += 1;
      this.topUp();
      return;
    }
    if (this.closing && !this.goOn && !this.queue[0].again) {
      this.idle({...this.closing, state: 'finished'});
      return;
    }
    const q = this.now = this.queue.shift();
    this.painted = Infinity;
    await q.ready;
    if (this.now !== q || this.closed) return;
    this.paint(q);
    requestAnimationFrame(() => {
      const channel = new MessageChannel();
      channel.port1.onmessage = () => {
        channel.port1.close();
        this.painted = performance.now();
        if (pressed) this.measured.next.push(this.painted - pressed);
        this.root.dispatchEvent(new CustomEvent('painted'));
      };
      channel.port2.postMessage(0);
    });
  }
  paint(q) {
    this.zoom.off();
    this.sounds.silence();
    this.root.classList.remove('is-state');
    this.mode = 'asking';
    if (this.title.parentNode !== this.words) this.words.prepend(this.title);
    this.paintWords(q);
    this.stage.replaceChildren(q.node);
    this.paintButtons(q);
    this.bar.hidden = false;
    this.meter();
    if (this.last && !matchMedia('(prefers-reduced-motion: reduce)').matches) {
      q.node.dataset.answer = this.last;
      setTimeout(() => { delete q.node.dataset.answer; }, 180);
    }
    if (!this.root.querySelector('dialog[open]')) this.title.focus({preventScroll: true});
  }
  paintWords(q) {
    const {t, settings} = this, isOwn = q.kind === 'pair' || q.kind === 'triplet';
    this.title.textContent = q.kind === 'pair' && settings.question || t(`question.${q.kind}`);
    const more = isOwn ? settings.guideline_short : t(`hint.${q.kind}`);
    const link =
      h('button', {class: 'as-link', type: 'button', onclick: () => this.openGuide()}, t('ask.guideline'));
    this.hint.replaceChildren(...(more ? [h('span', {class: 'g-text', dir: 'auto'}, more), ' '] : []),
      settings.guideline ? link : '');
  }
  paintButtons(q) {
    this.choices = choicesOf(q, this.t);
    const buttons = this.choices.map(choice => {
      const {key, said, glyph, cls} = choice, isDigit = cls === 'digit';
      return h('button', {
        class: `ans ${cls}`,
        type: 'button',
        'data-key': key,
        'aria-label': isDigit && said,
        onclick: event => this.press(choice, event.timeStamp)
      },
        glyph && icon(glyph, 'link-ico'),
        h('span', {class: 'word'}, ...(isDigit ? [key] : this.mnemonic(said, this.keys[key]))),
        !isDigit && this.cap(key));
    });
    const unsure = buttons.pop();
    this.answers.replaceChildren(h('div', {class: 'main-set', 'data-kind': q.kind}, ...buttons), unsure);
  }
  mnemonic(word, shortcut) {  // the letter that is a key is underlined
    const letter = this.singleKeys && shortcut.length < 4 && [...shortcut].find(c => /[a-z]/.test(c)),
          at = letter ? word.toLowerCase().search(new RegExp(`\\b${letter}`)) : -1;
    return at < 0 ? [word] : [word.slice(0, at), h('u', {}, word[at]), word.slice(at + 1)];
  }
  state(name, values = {}, actions = []) {  // a page without a question
    const {t, past, stage, title} = this, isNew = name !== this.mode;
    const words = [t(`state.${name}`, values), t(`state.${name}.text`, values)];
    const undo = {class: 'btn bare', type: 'button', onclick: this.acts.undo};
    if (past.length && !this.closed) actions.push(h('button', undo, icon('undo'), t('undo')));
    const drawn = [...words, ...actions.map(one => one.outerHTML)].join('\n');
    if (isNew) this.say('');
    Object.assign(this, {mode: name, now: null});
    this.strips();
    if (!isNew && drawn === this.drawn) return;  // a retry moves neither the focus nor what is pressed
    this.drawn = drawn;
    this.sounds.silence();
    this.root.classList.add('is-state');
    this.bar.hidden = true;
    this.hint.replaceChildren();
    title.textContent = words[0];
    stage.replaceChildren(h('div', {class: 'state', 'data-state': name}, icon('ball', 'ball'), title,
      h('p', {}, words[1]), h('div', {class: 'row'}, ...actions)));
    title.focus({preventScroll: true});
  }

  // --- questions in
  take(reply) {
    const n = this.outbox.answers().filter(row => !row.sent).length;
    if (reply.n_answered != null) [this.answered, this.mine] = [reply.n_answered + n, reply.n_mine + n];
    if ('progress' in reply) this.progress = reply.progress;
    this.behind = reply.behind ?? this.behind;
    if (reply.finished !== undefined) this.closing = reply.finished ? reply : null;
    const have = new Set(this.held());
    for (const q of reply.questions ?? [])
      if (!have.has(q.question_id) && !this.gone.has(q.question_id)) this.queue.push(this.draw(q));
    if (reply.held)  // newer ones took the place of others
      this.queue = this.queue.filter(q => q.again || reply.held.includes(q.question_id));
  }
  async topUp() {  // ask for questions until `ahead` are held
    if (this.leasing || this.closed) return;
    this.leasing = true;
    try {
      const n = this.ahead + (this.now ? 1 : 0), {settled} = this;
      const reply = await this.transport.lease(n, this.kept(), this.held());
      this.leasing = false;
      this.take(settled === this.settled ? reply : {...reply, n_answered: null});  // counted before those
      if (!this.outbox.rows.length) Object.assign(this, {waiting: null, failures: 0});
      this.goOnWith(reply);
    } catch (error) {
      this.leasing = false;
      this.fail(error);
      if (this.now || error.kind === 'ended') return;
      if (this.mode !== 'asking' || this.waiting)
        this.state(this.waiting?.kind === 'offline' ? 'offline' : 'busy', {n: this.outbox.rows.length});
      setTimeout(() => this.now || this.topUp(), Math.max(1000, this.retry * 1000));
    }
  }
  goOnWith(reply) {
    if (this.now) this.meter();
    else if (this.queue.length) this.next();
    else this.idle(reply);
  }
  idle(reply) {
    const {t, options} = this;
    const link = (words, href, cls = 'btn') =>
      h('a', {class: cls, href: `${options.base ?? ''}/${href}`}, t(words));
    const button = (words, act, cls) => h('button', {class: cls, type: 'button', onclick: act}, t(words));
    const code = reply.completion && h('p', {class: 'code'}, t('state.completion', {code: reply.completion}));
    const more = () => {
      this.goOn = true;
      this.queue.length ? this.next() : this.topUp();
    };
    const seen = () => [link('state.groups', 'groups'), link('state.history', 'history'), code];
    const pages = {
      finished: () => [reply.doubtful && options.mayReview && link('state.review', 'review', 'btn main'),
        link('state.groups', 'groups'), options.mayReview && link('state.export', 'export'),
        button('state.go_on', more, 'btn bare'), code],
      no_items: () => [h('code', {class: 'mono'}, 'clew add PATH')],
      practised: () => [button('state.begin', () => options.onPractised?.(), 'btn main')],
      nothing: seen, all_asked: seen
    };
    const name = reply.state === 'finished' && this.goOn ? 'nothing' : reply.state ?? 'nothing';
    this.state(name, reply.summary ?? {n: reply.behind ?? 0}, (pages[name]?.() ?? []).filter(Boolean));
    clearTimeout(this.idleTimer);
    if (name !== 'practised')
      this.idleTimer =
        setTimeout(() => this.now || this.topUp(), {warming_up: 300, learning: 1000}[name] ?? 3000);
  }

  // --- answers out
  press(choice, at) {
    const {answer, said, glyph} = choice, {ticked} = this.now ?? {};
    if (answer === 'confirm' && ticked) this.give([...ticked], this.confirmWords(), glyph, at);
    else this.give(answer, said, glyph, at);
  }
  give(answer, words, glyph, at, extra = {}) {
    if (!this.now || at < this.painted + DWELL || this.waiting?.kind === 'storage') return;
    const q = this.now, id = uuid();
    this.last = {same: 'same', different: 'different', dont_know: 'unsure'}[answer];
    this.refused = '';
    const entry = {
      submission_id: id,
      question_id: q.question_id,
      answer,
      order: q.shown.map(item => item.id),
      ms: Math.max(0, Math.round(at - this.painted)),
      note: q.note ?? '',
      ...extra
    };
    const {question_id, expires, kind, items, parts, examples} = q;
    const order = q.shown.map(item => items.indexOf(item));
    const question = {question_id, expires, kind, items, parts, examples, order};
    this.outbox.add({entry, question, pressed: at, words, glyph}, Boolean(this.waiting));
    this.gone.add(question_id);
    this.past.push({id, question});
    this.count(1);
    this.next(at);
    this.flush();
  }
  count(n) { Object.assign(this, {answered: Math.max(0, this.answered + n), mine: this.mine + n}); }
  async flush() {
    const {outbox} = this;
    if (this.sending || this.closed) return;
    this.sending = true;
    let most = AT_ONCE;
    while (outbox.rows.length && !this.closed) {
      const batch = outbox.rows.slice(0, most);
      batch.forEach(row => { row.sent = true; });
      try {
        const entries = batch.map(row => row.entry), n = this.ahead + (this.now ? 1 : 0);
        const reply = await this.transport.send(entries, n, this.kept(), this.held());
        outbox.drop(batch);
        this.settle(reply, batch);
      } catch (error) {
        batch.forEach(row => { row.sent = false; });
        if (error.kind === 'refused' && batch.length > 1) most = 1;  // one of them: only that one comes back
        else if (error.kind === 'refused') {
          await outbox.drop(batch);
          this.bringBack(batch[0], error.message);
        } else {
          this.fail(error);
          if (!this.closed) await this.pause(this.retry * 1000);
        }
      }
    }
    this.sending = false;
  }
  pause(ms) {  // until then, or until the connection is back
    return new Promise(resolve => {
      this.wake = resolve;
      setTimeout(resolve, ms);
    });
  }
  settle(reply, batch) {  // what was sent has arrived; each entry has a fate of its own
    Object.assign(this, {waiting: null, failures: 0, told: reply.told, settled: this.settled + 1});
    const newest = batch.at(-1), {t} = this;
    if (newest.pressed) this.measured.saved.push(performance.now() - newest.pressed);
    (reply.results ?? []).forEach(({status, detail}, i) => {
      if (status === 'refused' || status === 'conflict')
        this.bringBack(batch[i], detail || t('refused.conflict'));
    });
    this.take(reply);
    if (newest.words && !this.refused) {
      const answer = newest.words, n = (this.mine || this.answered) + 1, question = this.title.textContent;
      this.showLast(reply.told ? answer : t('said.saved', {answer}), newest.glyph);
      this.say(reply.told?.[1] ?? t('said.next', {answer, n, question}));
    }
    this.goOnWith(reply);
  }
  bringBack(row, why) {  // an answer that was not taken: its question comes back, aloud
    this.refused = why;
    this.count(-1);
    if (!row?.question) return this.strips();
    this.forget(row.entry.submission_id);
    this.putFirst({...row.question});
    this.say(this.t('strip.refused', {why}));
  }
  putFirst(q) {  // a question again, before the one on the screen
    if (this.now) this.queue.unshift(this.now);
    this.queue.unshift(this.draw({...q, again: true}));
    this.next();
  }
  forget(id) {
    const at = this.past.findIndex(one => one.id === id);
    if (at >= 0) this.past.splice(at, 1);
  }
  fail(error) {
    const kind = error.kind ?? 'refused';
    if (!error.kind) console.warn(error);
    this.failures += 1;
    const seconds = Math.min(15, .25 * 2 ** Math.min(this.failures, 6)) * (.75 + Math.random() / 2);
    this.retry = error.wait || seconds;
    if (kind === 'refused') this.refused = error.message;
    else this.waiting = {kind, why: error.message};
    if (kind === 'ended') this.stop('ended', {n: this.outbox.rows.length});
    else this.strips();
  }

  // --- undo, without end
  async undo() {
    const {t, past, transport} = this;
    if (this.waiting?.kind === 'storage' || this.closed) return;
    if (!past.length && transport.earlier) {
      try {
        const {answers, next} = await transport.earlier(this.before);
        this.before = next ?? this.before;
        past.unshift(...answers.reverse().filter(one => !past.some(other => other.id === one.id)));
      } catch (error) { return this.fail(error); }
    }
    const one = past.pop(), words = t(one ? 'undo.done' : 'undo.none');
    this.showLast(words);
    this.say(words);
    if (!one) return;
    this.outbox.add({entry: {submission_id: uuid(), revokes: one.id}});
    this.count(-1);
    this.last = null;
    this.putFirst({...one.question, question_id: `@${one.id}`});
    this.flush();
  }

  // --- confirm: ticks
  confirmWords() {
    const n = this.now.ticked.size;
    return n ? this.t('answer.confirm.some', {n}) : this.t('answer.confirm');
  }
  tick(id, button) {
    const {ticked} = this.now ?? {};
    if (!ticked) return;
    ticked.has(id) ? ticked.delete(id) : ticked.add(id);
    button.setAttribute('aria-pressed', ticked.has(id));
    this.answers.querySelector('[data-key=send] .word').textContent = this.confirmWords();
  }

  // --- dialogs
  open(name, body, words, act) {
    const {root, t} = this, box = openForm(root, name, t(`dialog.${name}`), body, words, act);
    box.addEventListener('close', () => this.title.focus({preventScroll: true}));
    return box;
  }
  openFlag(at) {
    const {t, now: q} = this, reasons = ['not_comparable', 'broken', 'several', 'foreign'];
    if (!q) return;
    const which = h('fieldset', {class: 'stack', hidden: true},
      h('legend', {class: 'faint'}, t('flag.which')), h('div', {class: 'row'}, ...q.tags.map(box)));
    function box(tag, value) {
      return h('label', {class: 'check'}, h('input', {type: 'checkbox', name: 'bad', value}), tag);
    }
    const radio = (value, i) => h('label', {class: 'check'}, h('input', {
      type: 'radio', name: 'reason', value, checked: i === 0, onchange: () => { which.hidden = i === 0; }
    }), t(`flag.${value}`));
    const act = form => {
      const reason = form.elements.reason.value;
      if (reason === 'not_comparable') {
        this.give('not_comparable', t('flag.said.not_comparable'), '', at);
        return;
      }
      const bad = [...form.querySelectorAll('[name=bad]:checked')].map(input => q.shown[input.value].id);
      if (!bad.length) throw new Error(t('flag.none'));
      q.note = [t(`flag.${reason}`), q.note].filter(Boolean).join('. ');
      this.give('bad_item', t('flag.said.bad_item'), '', at, {bad});
    };
    this.open('flag', [...reasons.map(radio), which], {go: t('flag.go'), cancel: t('cancel')}, act);
  }
  openNote() {
    const {t, now: q} = this;
    if (!q) return;
    const area = h('textarea', {rows: 3, maxlength: 2000, dir: 'auto'}, q.note ?? '');
    const act = () => {
      q.note = area.value.trim();
      if (q.note) this.showLast(t('note.kept'));
    };
    area.addEventListener('keydown', event => {
      if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) area.form.requestSubmit();
    });
    const words = {go: t('note.go'), cancel: t('cancel')};
    this.open('note', [h('label', {class: 'field'}, t('note.label'), area)], words, act);
    area.focus();
  }
  openGuide() {
    const {t, settings} = this, guide = h('div', {class: 'guide', dir: 'auto'}, settings.guideline);
    if (settings.guideline) this.open('guide', [guide], {go: t('close')});
  }
  openKeys() {
    const {t} = this;
    const line = name => [h('dt', {}, ...keyCaps(this.keys[name])), h('dd', {}, t(`key.${name}`))];
    const list = h('dl', {class: 'keys'}, ...LISTED.flatMap(line));
    this.open('keys', [list, h('p', {class: 'faint'}, t('key.more'))], {go: t('close')});
  }

  // --- keys
  onKey(event) {
    if (this.closed || !this.root.isConnected || event.isComposing) return;
    const target = event.composedPath()[0], key = event.key.toLowerCase();
    if (event.ctrlKey || event.altKey || event.metaKey || this.root.querySelector('dialog[open]') ||
      target.closest?.('input:not([type=range]):not([type=checkbox]), textarea, select, dialog[open]'))
      return;
    if (key === 'escape') this.zoom.off();
    else if (STEPS[key] && this.zoom.isOn()) {
      this.zoom.step(...STEPS[key]);
      event.preventDefault();
    } else if (!event.repeat && this.singleKeys && this.act(key, target, event.timeStamp))
      event.preventDefault();
  }
  /** Does what a key stands for; whether it stands for anything. */
  act(key, target, at) {
    const {keys, now, choices = []} = this;
    const name = Object.keys(keys).find(
      one => one === 'send' ? keys[one] === key : key.length === 1 && keys[one].includes(key));
    if (!name || (key === ' ' || key === 'enter') && target.closest?.('button, a, input, summary'))
      return false;
    const choice = now && choices.find(one => one.key === name);
    if (now?.kind === 'confirm' && /^\d$/.test(name))
      this.root.querySelectorAll('.members .pick')[name - 1]?.click();
    else if (choice) {
      const button = this.answers.querySelector(`[data-key="${name}"]`);
      button.classList.add('is-hit');
      setTimeout(() => button.classList.remove('is-hit'), 180);
      this.press(choice, at);
    } else if (this.acts[name]) this.acts[name](at);
    else return false;
    return true;
  }

  // --- life
  listen() {
    const on = (target, name, act) => {
      target.addEventListener(name, act);
      return () => target.removeEventListener(name, act);
    };
    const heartbeat = setInterval(() => {
      if (!document.hidden && this.now && !this.sending && !this.waiting) this.topUp();
    }, 45000);
    this.stopEvents = this.transport.events?.(news => this.hear(news)) ?? (() => {});
    this.ends = [
      on(this.options.keyTarget ?? document, 'keydown', event => this.onKey(event)),
      on(window, 'online',
        () => {
          this.wake?.();
          this.flush();
        }),
      on(window, 'pagehide',
        () => {
          const ahead = this.queue.map(q => q.question_id);  // the one on the screen stays this person's
          if (ahead.length && !this.outbox.rows.length) this.transport.release?.(ahead);
        }),
      () => clearInterval(heartbeat), () => clearTimeout(this.idleTimer)
    ];
  }
  hear(news) {
    this.behind = news.behind ?? this.behind;
    if ('progress' in news) this.progress = news.progress;
    if (this.mode === 'asking') this.meter();
    else if (!this.now && this.mode !== 'ended') this.topUp();
  }
  begin() {
    const {outbox, options} = this;
    for (const {entry, question} of outbox.rows)
      if (entry.revokes) this.forget(entry.revokes);
      else if (question) this.past.push({id: entry.submission_id, question});
    if (options.again) this.queue.push(this.draw(options.again));
    if (options.first) this.take(options.first);
    if (options.first) this.goOnWith(options.first);
    else this.topUp();
    this.flush();
  }
  stop(name, values, actions) {
    this.closed = true;
    this.stopEvents();
    if (name) this.state(name, values, actions);
  }
  close() {
    this.stop();
    this.ends.forEach(end => end());
  }
}
const keyCaps = shortcut => (shortcut.length > 3 ?
    [shortcut] :
    [...shortcut]).map(c => h('kbd', {}, {' ': 'Space', enter: 'Enter'}[c] ?? c.toUpperCase()));

// ---------------------------------------------------------------- the ask page itself

/** Only one tab asks: the other offers to take over. */
async function oneTab(name, start) {
  if (!navigator.locks) return start(true);
  const run = steal => {
    const take = () => run(true), wish = steal ? {steal: true} : {ifAvailable: true};
    const hold = lock => lock ? new Promise(() => start(true)) : start(false, take);
    return navigator.locks.request(name, wish, hold)
      .catch(() => start(false, take));  // stolen by another tab
  };
  return run(false);
}
export async function start(data) {
  const root = document.getElementById('ask'), saved = document.getElementById('saved'),
        t = translator(data.strings);
  let page = null;
  const onSaved = (n, waiting, rows) => {
    const id = page?.now?.question_id ?? '', again = id[0] === '@' && !rows ? `?again=${id.slice(1)}` : '';
    if (location.search !== again) history.replaceState(null, '', location.pathname + again);
    const [glyph, words] = waiting ? ['off', t('saved.kept', {n})] :
      rows                         ? ['clock', t('saved.saving')] :
                                     ['check', t('saved.all')];
    saved.classList.toggle('is-off', Boolean(waiting));
    saved.replaceChildren(icon(glyph), h('span', {class: waiting ? '' : 'lbl'}, words));
  };
  const box = `clew ${data.project} ${data.me}`;
  await oneTab(box, async (isMine, take) => {
    if (!isMine) {
      const act = {class: 'btn main', type: 'button', onclick: take};
      page ??= mount(root, {lease: () => new Promise(() => {})}, data);
      page.stop('two_tabs', {}, [h('button', act, t('state.two_tabs.take'))]);
      return;
    }
    page?.close();
    page = mount(root, httpTransport(data.base), {
      ...data,
      onSaved,
      outbox: await openOutbox(box),
      keys: JSON.parse(stored('clew-keys') ?? '{}'),
      singleKeys: stored('clew-single-keys') !== 'off',
      ahead: Number(stored('clew-ahead')) || AHEAD
    });
  });
}
const data = typeof document === 'undefined' ? null : document.getElementById('ask-data');
if (data) start(JSON.parse(data.textContent));
