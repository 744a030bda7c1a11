// The asking module: one question a screen, and no answer lost.
//
// mount(root, transport, options) draws into `root` and speaks to `transport`, so that the page (HTTP),
// a notebook (anywidget) and the practice run (nothing) ask in the same way. An answer goes to the outbox
// first, the next question is painted at once, and "saved" is said when the server has said so.

const SVG = 'http://www.w3.org/2000/svg';
const AHEAD = 4;    // questions held ahead, their media decoded
const BEHIND = 20;  // answers to be learned, from which on the page says so
const DWELL = 200;  // ms after painting before a press is an answer: nobody decides faster
const KEYS = {
  1: '1s',
  2: '2d',
  3: '3',
  4: '4',
  5: '5',
  6: '6',
  7: '7',
  8: '8',
  unsure: '0k',
  undo: 'u',
  flag: 'f',
  note: 'n',
  zoom: 'z',
  sound: 'a ',
  guide: 'g',
  help: '?',
  send: 'enter'
};
const SMALL = 360;  // pixels up to which pictures are shown larger than they are
const LETTERS = 'ABC';
const ORDER = {
  pair: 'AB',
  triplet: 'ABC',
  odd_one_out: '123'
};

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

// ---------------------------------------------------------------- transports

/** A failed request: `kind` is offline, busy, ended, storage or refused; `wait` seconds by Retry-After. */
export class Failure extends Error {
  constructor(kind, message, wait = 0) {
    super(message);
    this.kind = kind;
    this.wait = wait;
  }
}
export async function request(url, method = 'GET', body = undefined) {
  let reply;
  try {
    reply = await fetch(url, {
      method,
      headers: body === undefined ? {} : {'Content-Type': 'application/json'},
      body: body === undefined ? undefined : JSON.stringify(body),
      credentials: 'same-origin'
    });
  } catch (error) { throw new Failure('offline', error.message); }
  if (reply.ok) return reply.status === 204 ? null : reply.json();
  const problem = await reply.json().catch(() => ({}));
  const wait = Number(reply.headers.get('Retry-After')) || 0;
  const kind = {
    401: 'ended',
    429: 'busy',
    503: 'busy',
    502: 'offline',
    504: 'offline',
    507: 'storage',
    409: 'stale'
  }[reply.status] ??
    'refused';
  throw new Failure(kind, problem.detail ?? problem.title ?? `${reply.status}`, wait);
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
  }).catch(() => null);  // a private window without storage: the outbox lives in memory
  const rows = [];
  const act = (mode, work, durability = 'relaxed') => db && new Promise((resolve, reject) => {
    const step = db.transaction('entries', mode, {durability}), job = work(step.objectStore('entries'));
    step.oncomplete = () => resolve(job?.result);
    step.onerror = () => reject(step.error);
  });
  rows.push(...await act('readonly', store => store.getAll()) ?? []);
  return {
    rows,
    add(row, isAlone = false) {  // the only copy, without a connection: flushed to disk at once
      rows.push(row);
      const kept = {entry: row.entry, question: row.question};
      row.writing =
        Promise.resolve(act('readwrite', store => store.add(kept), isAlone ? 'strict' : 'relaxed'))
          .then(seq => { row.seq = seq; })
          .catch(() => {});
    },
    async drop(gone) {  // nobody waits for it: what is not dropped is sent again, and known by its id
      for (const row of gone) rows.splice(rows.indexOf(row), 1);
      await Promise.all(gone.map(row => row.writing));
      const seqs = gone.map(row => row.seq).filter(seq => seq !== undefined);
      if (seqs.length)
        await act('readwrite', store => seqs.forEach(seq => store.delete(seq)))?.catch(() => {});
    },
  };
}
export const memoryOutbox = () => {
  const rows = [];
  return {
    rows,
    add: row => { rows.push(row); },
    drop: async gone => {
      for (const row of gone) rows.splice(rows.indexOf(row), 1);
    }
  };
};

// ---------------------------------------------------------------- drawing items

const shuffled = list => {
  const out = [...list];
  for (let i = out.length - 1; i > 0; i--) {
    const j = Math.floor(Math.random() * (i + 1));
    [out[i], out[j]] = [out[j], out[i]];
  }
  return out;
};

/** Shows a small picture larger, so that people need not bend over it. */
function grow(img) {
  const factor = Math.min(3, SMALL / Math.max(img.naturalWidth, img.naturalHeight));
  if (factor > 1) img.style.width = `${Math.round(img.naturalWidth * factor)}px`;
}

/** Draws one item; returns its node and a promise that holds when its media are decoded. */
function drawItem(item, tag, t, actions) {
  const label = t(`item.${item.kind}`, {tag});
  const names = item.name ? h('span', {class: 'name', dir: 'auto'}, item.name) : null;
  if (item.kind === 'image') {
    const img = new Image();
    img.alt = label;
    img.draggable = false;
    img.src = item.url;
    img.dataset.full = item.url.replace(/size=\w+/, 'size=full');
    const shot = h('div', {class: 'shot'}, img, h('span', {class: 'eye'}));
    const node = h('figure', {class: 'card'}, shot,
      h('figcaption', {}, h('span', {class: 'tag'}, tag), names,
        h('button', {class: 'zoom-btn', type: 'button', 'aria-label': t('ask.zoom'), onclick: actions.zoom},
          icon('zoom'))));
    shot.addEventListener('click', actions.zoom);
    shot.addEventListener('pointermove', event => actions.aim(event, shot));
    const ready = img.decode().then(() => grow(img)).catch(() => {
      node.classList.add('is-broken');
      shot.replaceChildren(h('p', {class: 'broken'}, icon('off'), h('span', {}, t('ask.broken', {tag}))));
    });
    return {node, ready};
  }
  if (item.kind === 'sound') {
    const audio = new Audio();
    audio.preload = 'auto';
    audio.src = item.sound;
    const img = new Image();
    img.alt = t('item.spectrogram', {tag});
    img.src = item.url;
    const line = h('span', {class: 'head-line'}), time = h('span', {class: 'faint mono'}, '0:00.0');
    const range =
      h('input', {type: 'range', min: 0, max: 1000, value: 0, 'aria-label': t('ask.position', {tag})});
    const button =
      h('button', {class: 'btn round', type: 'button', 'aria-label': t('ask.play', {tag})}, icon('play'));
    const spec = h('div', {class: 'spec'}, img, line);
    const node = h('figure', {class: 'card paper sound'}, spec,
      h('div', {class: 'player'}, button, range, time, h('span', {class: 'tag'}, tag)));
    const show = () => {
      const d = audio.duration || 1, at = audio.currentTime;
      range.value = 1000 * at / d;
      line.style.insetInlineStart = `${100 * at / d}%`;
      time.textContent = `${Math.floor(at / 60)}:${(at % 60).toFixed(1).padStart(4, '0')}`;
    };
    audio.addEventListener('timeupdate', show);
    audio.addEventListener('play', () => {
      button.classList.add('is-on');
      const step = () => {
        show();
        if (!audio.paused && node.isConnected) requestAnimationFrame(step);
      };
      step();
    });
    audio.addEventListener('pause', () => button.classList.remove('is-on'));
    audio.addEventListener('ended', () => actions.ended(node));
    button.addEventListener('click', () => actions.play(node));
    range.addEventListener('input', () => {
      audio.currentTime = range.value / 1000 * (audio.duration || 0);
      show();
    });
    node.audio = audio;
    const broken = () => {
      node.classList.add('is-broken');
      spec.replaceChildren(h('p', {class: 'broken'}, icon('off'), h('span', {}, t('ask.broken', {tag}))));
    };
    audio.addEventListener('error', broken, {once: true});
    return {node, ready: img.decode().catch(broken)};
  }
  const body = item.kind === 'text' ?
    h('div', {class: 'prose', dir: 'auto', tabindex: 0, role: 'region', 'aria-label': label},
      item.text ?? '') :
    h('div', {class: 'fields', tabindex: 0, role: 'region', 'aria-label': label},
      h('dl', {}, ...(item.columns ?? []).map(([name,
        value]) => h('div', {}, h('dt', {}, name), h('dd', {dir: 'auto'}, value ?? '')))));
  return {
    node: h('article', {class: 'card paper'}, body,
      h('p', {class: 'cap-row'}, h('span', {class: 'tag'}, tag), names)),
    ready: Promise.resolve()
  };
}

/** Rows side by side in one table; for two, equal values are marked. */
function drawRows(items, tags, t) {
  const names = [...new Set(items.flatMap(item => item.columns.map(([name]) => name)))];
  const tables = items.map(item => Object.fromEntries(item.columns)), two = items.length === 2;
  const head = [h('th', {scope: 'col'}, h('span', {class: 'sr'}, t('ask.field')))];
  tags.forEach((tag, i) => {
    if (two && i)
      head.push(h('th', {class: 'sign', scope: 'col'}, h('span', {class: 'sr'}, t('ask.equal?'))));
    head.push(h('th', {scope: 'col'}, tag));
  });
  const body = names.map(name => {
    const values = tables.map(table => table[name] ?? ''),
          equal = two && values[0] === values[1] && values[0] !== '';
    const cells = [h('th', {scope: 'row'}, name)];
    values.forEach((value, i) => {
      if (two && i)
        cells.push(h('td', {class: 'sign'}, equal ? icon('same', 'link-ico') : '',
          h('span', {class: 'sr'}, t(equal ? 'ask.equal' : 'ask.unequal'))));
      cells.push(h('td', {dir: 'auto', 'data-tag': tags[i]}, value));
    });
    return h('tr', {class: equal ? 'eq' : ''}, ...cells);
  });
  const table = h('table', {class: two ? 'rows' : 'rows many'}, h('thead', {}, h('tr', {}, ...head)),
    h('tbody', {}, ...body));
  return h('div', {class: 'rows-wrap', tabindex: 0, role: 'region', 'aria-label': t('ask.rows')}, table);
}

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
    s('path',
      {'vector-effect': 'non-scaling-stroke', d: 'M50 0C50 44 24.5 12 24.5 56M50 0C50 44 75.5 12 75.5 56'}));
const thumb = (item, label, t) => {
  if (item.kind === 'image' || item.kind === 'sound') {
    const img = new Image();
    img.alt = label;
    img.src = item.url;
    img.draggable = false;
    return {
      node: img,
      ready:
        img.decode().catch(() => { img.replaceWith(h('span', {class: 'broken'}, t('ask.broken.short'))); })
    };
  }
  const text = item.text ?? (item.columns ?? []).map(([name, value]) => `${name}: ${value}`).join('\n');
  return {node: h('span', {class: 'scrap', dir: 'auto'}, text), ready: Promise.resolve()};
};

/** Draws the whole question, in an order that is random unless it was shown before. */
function draw(q, t, actions) {
  if (q.order) q.shown = q.order.map(i => q.items[i]);
  const slot = (...nodes) => h('div', {class: 'slot'}, ...nodes), waits = [];
  const place = (item, tag) => {
    const d = drawItem(item, tag, t, actions);
    waits.push(d.ready);
    return slot(d.node);
  };
  let node;
  if (q.kind === 'which_of') {
    q.shown ??= q.items;
    const groups = [];
    let at = 1;
    for (const size of q.parts.slice(1)) {
      groups.push(q.items.slice(at, at + size));
      at += size;
    }
    q.groups = groups;
    node = h('div', {class: 'set which'}, place(q.items[0], 'A'),
      h('ol', {class: 'choices', 'data-n': groups.length},
        ...groups.map((items, g) => h('li', {class: 'card choice'},
                        h('div', {class: 'trio', 'data-n': items.length}, ...items.map((item, i) => {
                          const d = thumb(item, t('item.example', {group: g + 1, i: i + 1}), t);
                          waits.push(d.ready);
                          return d.node;
                        })),
                        h('p', {class: 'cap-row'}, h('span', {class: 'tag'}, `${g + 1}`))))));
  } else if (q.kind === 'confirm') {
    const n = q.parts[0],
          members = (q.shown ?? [...q.items.slice(0, n), ...shuffled(q.items.slice(n))]).slice(n);
    q.shown = [...q.items.slice(0, n), ...members];
    q.ticked = new Set();
    node = h('div', {class: 'set confirm'},
      h('section', {class: 'stack', 'aria-label': t('confirm.examples')},
        h('ul', {class: 'strand', tabindex: 0}, ...q.items.slice(0, n).map((item, i) => {
          const d = thumb(item, t('item.example', {group: 1, i: i + 1}), t);
          waits.push(d.ready);
          return h('li', {class: 'knot'}, d.node);
        }))),
      h('ol', {class: 'members', 'data-n': members.length}, ...members.map((item, i) => {
        const d = thumb(item, t('item.member', {i: i + 1}), t);
        waits.push(d.ready);
        const button = h('button', {
          class: 'pick',
          type: 'button',
          'aria-pressed': 'false',
          onclick: () => actions.tick(item.id, button)
        },
          d.node, h('span', {class: 'tick'}, icon('diff', 'link-ico')), h('span', {class: 'tag'}, `${i + 1}`),
          h('span', {class: 'sr'}, t('confirm.not')));
        return h('li', {}, button);
      })));
  } else {
    q.shown ??= q.kind === 'triplet' ? [q.items[0], ...shuffled(q.items.slice(1))] : shuffled(q.items);
    const tags = [...ORDER[q.kind]];
    if (q.shown.every(item => item.kind === 'row' || item.kind === 'vector'))
      node = h('div', {class: 'set one'}, drawRows(q.shown, tags, t));
    else {
      const cards = q.shown.map((item, i) => place(item, tags[i]));
      if (q.kind === 'pair') node = h('div', {class: 'set'}, cards[0], tie(), cards[1]);
      else if (q.kind === 'triplet')
        node = h('div', {class: 'set fork'}, cards[0], fork(), cards[1], cards[2]);
      else node = h('div', {class: 'set three'}, ...cards);
    }
  }
  q.node = node;
  q.ready = Promise.all(waits);
  return q;
}

/** The buttons of a kind of question: [answer, key, words, glyph, extra class]. */
function choices(q) {
  if (q.kind === 'pair')
    return [['same', '1', 'answer.same', 'same'], ['different', '2', 'answer.different', 'diff']];
  if (q.kind === 'triplet')
    return [1, 2].map(
      i => [q.items.indexOf(q.shown[i]), `${i}`, `answer.closer.${LETTERS[i]}`, ['', 'fb', 'fc'][i]]);
  if (q.kind === 'odd_one_out')
    return [
      ...['first', 'second', 'third'].map(
        (w, i) => [q.items.indexOf(q.shown[i]), `${i + 1}`, `answer.${w}`, null]),
      ['all_alike', '4', 'answer.none', null, 'none']
    ];
  if (q.kind === 'which_of')
    return [
      ...q.groups.map((_, i) => [i, `${i + 1}`, null, null, 'digit']),
      ['none_of_these', '7', 'answer.none', null, 'none']
    ];
  return [['confirm', 'send', 'answer.confirm', 'same']];
}

// ---------------------------------------------------------------- the page

export function mount(root, transport, options) {
  const t = translator(options.strings), settings = options.settings ?? {},
        $ = selector => root.querySelector(selector);
  const outbox = options.outbox ?? memoryOutbox(), keys = {...KEYS, ...options.keys},
        singleKeys = options.singleKeys ?? true;
  const ahead = options.ahead ?? AHEAD;
  let queue = [], now = null, painted = 0, answered = options.answered ?? 0,
      progress = options.progress ?? null, last = null, mode = 'starting';
  let sending = false, retry = 0, failures = 0, waiting = null, closed = false, lastTimer, remembered = null,
      stopEvents = () => {}, leasing = false, refused = '';
  const past = [],
        gone = new Set(outbox.rows.map(
          row => row.entry.question_id));  // what was answered here, newest last: {id, question, answer}
  const measured = {next: [], saved: [], misses: 0};
  root.measured = measured;

  // --- the frame, drawn once; the answer bar never moves
  const live = h('p', {class: 'sr', 'aria-live': 'polite'});
  const title = h('h1', {tabindex: -1, id: 'q'}), hint = h('p', {}),
        strip = h('p', {class: 'note-strip', role: 'status', hidden: true});
  const stage = h('div', {class: 'stage'});
  const words = h('div', {class: 'ask-q'}, title, hint),
        main = h('main', {class: 'ask', id: 'main', tabindex: -1}, words, strip, stage);
  const lastSaid = h('span', {class: 'last', role: 'status'}), done = h('span', {class: 'done'}),
        left = h('span', {class: 'left'});
  const line = s('svg', {class: 'line', 'aria-hidden': 'true'});
  const tool = (name, glyph, act) =>
    h('button', {class: `btn bare ${name}`, type: 'button', onclick: act, 'aria-keyshortcuts': keys[name][0]},
      icon(glyph), h('span', {class: 'lbl', 'aria-hidden': 'true'}, t(`tool.${name}`)),
      h('span', {class: 'sr'}, t(`tool.${name}.full`)),
      singleKeys && h('kbd', {'aria-hidden': 'true'}, keys[name][0].toUpperCase()));
  const answers = h('div', {class: 'answers'});
  const bar = h('div', {class: 'bar', role: 'region', 'aria-label': t('ask.bar')},
    h('div', {class: 'bar-in'}, h('div', {class: 'meter'}, lastSaid, done, line, left),
      tool('undo', 'undo', undo), answers,
      h('div', {class: 'tools'}, tool('flag', 'flag', openFlag), tool('note', 'note', openNote))));
  root.replaceChildren(main, bar, live);

  const say = text => { live.textContent = text; };
  const heldIds = () => [now, ...queue].filter(Boolean).map(q => q.question_id);
  const guideLink = () => settings.guideline ?
    h('button', {class: 'as-link', type: 'button', onclick: openGuide}, t('ask.guideline')) :
    '';

  // --- meter
  function meter() {
    done.textContent = t('meter.answered', {n: answered});
    const bits = [],
          x = (a, b, cls) => bits.push(s('line', {x1: a, x2: b, y1: 8, y2: 8, ...(cls && {class: cls})}));
    if (!progress || progress.low == null) {
      x('1', '8%');
      x('8%', '100%', 'sparse');
      bits.push(s('circle', {class: 'knot', cx: '8%', cy: 8, r: 5}));
      left.replaceChildren(t(answered < 20 ? 'meter.early' : 'meter.estimating'),
        ...(answered < 20 ? [h('span', {class: 'faint'}, ` ${t('meter.early.from')}`)] : []));
    } else {
      const high = Math.max(progress.high, 1), total = progress.answered + high,
            p = v => `${(100 * v / total).toFixed(2)}%`;
      x('1', p(progress.answered));
      x(p(progress.answered + total * .01), p(progress.answered + progress.low), 'dense');
      x(p(progress.answered + progress.low), '100%', 'sparse');
      bits.push(s('circle', {class: 'knot', cx: p(progress.answered), cy: 8, r: 5}));
      left.replaceChildren(t('meter.left', {n: progress.median}),
        h('span', {class: 'faint'},
          ` (${progress.low.toLocaleString('en')}–${progress.high.toLocaleString('en')})`));
    }
    line.replaceChildren(...bits);
    options.onSaved?.(outbox.rows.length, waiting);
  }
  function showLast(words, glyph) {
    clearTimeout(lastTimer);
    lastSaid.replaceChildren(...(words ? [glyph ? icon(glyph, 'link-ico') : '', h('span', {}, words)] : []));
    if (words) lastTimer = setTimeout(showLast, 4000);
  }

  // --- painting
  function questionWords(q) {
    const own = q.kind === 'pair' && settings.question;
    title.textContent = own || t(`question.${q.kind}`);
    title.dir = 'auto';
    const more = q.kind === 'pair'                                              ? settings.guideline_short :
      q.kind === 'odd_one_out' || q.kind === 'confirm' || q.kind === 'which_of' ? t(`hint.${q.kind}`) :
                                                                                  settings.guideline_short;
    hint.replaceChildren(
      ...(more ? [h('span', {class: 'g-text', dir: 'auto'}, more), ' '] : []), guideLink());
  }
  function buttons(q) {
    const make = ([answer, key, words, glyph, cls = '']) => {
      const name = words ? t(words) : key, cap = keys[key][0];
      return h('button', {
        class: `ans ${cls}`,
        type: 'button',
        'data-key': key,
        'aria-label': words ? null : t('answer.group', {n: key}),
        onclick: event => answer === 'confirm' ?
          confirmAnswer(event.timeStamp) :
          give(answer, words ? t(words) : t('answer.group', {n: key}), glyph, event.timeStamp)
      },
        glyph ? icon(glyph, 'link-ico') : '', h('span', {class: 'word'}, ...mnemonic(name, keys[key])),
        singleKeys && cls !== 'digit' ?
          h('kbd', {'aria-hidden': 'true'}, keys[key] === 'enter' ? '↵' : cap.toUpperCase()) :
          '');
    };
    const unsure = h('button', {
      class: 'ans unsure',
      type: 'button',
      'data-key': 'unsure',
      onclick: event => give('dont_know', t('answer.unsure'), 'unsure', event.timeStamp)
    },
      icon('unsure', 'link-ico'), h('span', {class: 'word'}, ...mnemonic(t('answer.unsure'), keys.unsure)),
      singleKeys && h('kbd', {'aria-hidden': 'true'}, keys.unsure[0]));
    answers.replaceChildren(
      h('div', {class: 'main-set', 'data-kind': q.kind}, ...choices(q).map(make)), unsure);
    if (q.kind === 'confirm') confirmWords();
  }
  function mnemonic(word, shortcut) {  // the letter that is a key is underlined
    const letter = singleKeys && [...shortcut].find(c => /[a-z]/.test(c) && shortcut.length < 4),
          at = letter ? word.toLowerCase().search(new RegExp(`\\b${letter}`)) : -1;
    return at < 0 ? [word] : [word.slice(0, at), h('u', {}, word[at]), word.slice(at + 1)];
  }
  async function next(pressed = 0) {
    if (closed) return;
    if (!queue.length) {
      now = null;
      measured.misses += 1;
      return top();
    }
    if (options.finished && !options.goOn && !queue[0].again) {
      now = null;
      return idle({...options.closing, state: 'finished'});
    }
    const q = queue.shift();
    now = q;
    painted = Infinity;
    await q.ready;
    if (now !== q || closed) return;
    main.classList.remove('is-zoomed');
    root.classList.remove('is-state');
    mode = 'asking';
    if (title.parentNode !== words) words.prepend(title);
    questionWords(q);
    stage.replaceChildren(q.node);
    buttons(q);
    bar.hidden = false;
    strips();
    meter();
    remembered = null;
    silence();
    if (last && !matchMedia('(prefers-reduced-motion: reduce)').matches) {
      const node = q.node;
      node.dataset.answer = last;
      setTimeout(() => { delete node.dataset.answer; }, 180);
    }
    if (!root.querySelector('dialog[open]')) title.focus({preventScroll: true});
    requestAnimationFrame(() => {
      const channel = new MessageChannel();
      channel.port1.onmessage = () => {
        channel.port1.close();
        painted = performance.now();
        if (pressed) measured.next.push(painted - pressed);
        root.dispatchEvent(new CustomEvent('painted'));
      };
      channel.port2.postMessage(0);
    });
  }
  function state(name, values = {}, actions = []) {  // a page without a question
    if (name !== mode) say('');
    mode = name;
    now = null;
    silence();
    root.classList.add('is-state');
    bar.hidden = true;
    strips();
    hint.replaceChildren();
    title.textContent = t(`state.${name}`, values);
    title.dir = 'auto';
    stage.replaceChildren(h('div', {class: 'state', 'data-state': name}, icon('ball', 'ball'), title,
      h('p', {}, t(`state.${name}.text`, values)), h('div', {class: 'row'}, ...actions)));
    title.focus({preventScroll: true});
  }
  function strips() {
    const kept = outbox.rows.length, show = (glyph, text) => {
      strip.hidden = false;
      strip.replaceChildren(icon(glyph), h('span', {}, text));
    };
    main.classList.toggle('has-strip', Boolean(waiting || refused || isBehind()));
    if (refused) show('flag', t('strip.refused', {why: refused}));
    else if (waiting === 'offline') show('off', t('strip.offline', {n: kept, left: queue.length}));
    else if (waiting === 'busy') show('clock', t('strip.busy', {n: kept, wait: Math.ceil(retry)}));
    else if (waiting === 'storage') show('flag', t('strip.storage', {why: waitingWhy}));
    else if (isBehind()) show('clock', t('strip.behind', {n: options.behind}));
    else strip.hidden = true;
    options.onSaved?.(kept, waiting);
  }
  let waitingWhy = '';
  const isBehind = () => options.behind >= BEHIND && mode === 'asking';

  // --- questions in
  function take(reply) {
    if (reply.n_answered != null)
      answered = reply.n_answered + outbox.rows.filter(row => !row.entry.revokes && !row.sent).length;
    if ('progress' in reply) progress = reply.progress;
    if (reply.behind !== undefined) options.behind = reply.behind;
    if (reply.finished !== undefined) {
      options.finished = reply.finished;
      options.closing = reply;
    }
    const have = new Set(heldIds());
    for (const q of reply.questions ?? [])
      if (!have.has(q.question_id) && !gone.has(q.question_id)) queue.push(draw(q, t, actions));
    if (reply.held) {
      const held = new Set(reply.held);
      queue = queue.filter(q => q.again || held.has(q.question_id));
    }  // newer ones took their place
  }
  const kept = () => (now ? [now.question_id] : []).filter(id => !id.startsWith('@'));
  async function top() {  // ask for questions until `ahead` are held
    if (leasing || closed) return;
    leasing = true;
    try {
      const reply = await transport.lease(ahead + (now ? 1 : 0), kept(), heldIds());
      leasing = false;
      take(reply);
      if (waiting && !outbox.rows.length) {
        waiting = null;
        failures = 0;
      }
      if (!now) queue.length ? next() : idle(reply);
      else strips(), meter();
    } catch (error) {
      leasing = false;
      fail(error);
      if (!now && error.kind !== 'ended') {
        if (mode !== 'asking' || waiting)
          state(waiting === 'offline' ? 'offline' : 'busy', {n: outbox.rows.length},
            [outbox.rows.length ? '' : '']);
        setTimeout(() => {
          if (!now) top();
        }, Math.max(1000, retry * 1000));
      }
    }
  }
  let idleTimer;
  function idle(reply) {
    const link = (words, href, cls = 'btn') =>
      h('a', {class: cls, href: `${options.base ?? ''}/${href}`}, t(words));
    const button = (words, act, cls) => h('button', {class: cls, type: 'button', onclick: act}, t(words));
    const code = reply.completion && h('p', {class: 'code'}, t('state.completion', {code: reply.completion}));
    const goOn = () => {
      options.goOn = true;
      queue.length ? next() : top();
    };
    const name = reply.state === 'finished' && options.goOn ? 'nothing' : reply.state ?? 'nothing';
    const actions = {
      finished: () => [reply.doubtful && options.mayReview && link('state.review', 'review', 'btn main'),
        link('state.groups', 'groups'), options.mayReview && link('state.export', 'export'),
        button('state.go_on', goOn, 'btn bare'), code],
      no_items: () => [h('code', {class: 'mono'}, 'clew add PATH')],
      practised: () => [button('state.begin', () => options.onPractised?.(), 'btn main')],
      nothing: () => [link('state.groups', 'groups'), link('state.history', 'history'), code],
    }[name]?.() ??
      [];
    state(name, reply.summary ?? {n: reply.behind ?? 0}, actions.filter(Boolean));
    clearTimeout(idleTimer);
    if (name !== 'practised')
      idleTimer = setTimeout(() => {
        if (!now) top();
      }, {warming_up: 300, learning: 1000}[name] ?? 3000);
  }

  // --- answers out
  function give(answer, words, glyph, at, extra = {}) {
    if (!now || at < painted + DWELL || waiting === 'storage') return;
    const q = now, id = uuid();
    now = null;
    last = {same: 'same', different: 'different', dont_know: 'unsure'}[answer];
    refused = '';
    const entry = {
      submission_id: id,
      question_id: q.question_id,
      answer,
      order: q.shown.map(item => item.id),
      ms: Math.max(0, Math.round(at - painted)),
      note: q.note ?? '',
      ...extra
    };
    outbox.add({entry, question: plain(q), pressed: at, words, glyph}, Boolean(waiting));
    gone.add(q.question_id);
    past.push({id, question: q});
    answered += 1;
    next(at);
    flush();
  }
  const plain = q => ({
    question_id: q.question_id,
    expires: q.expires,
    kind: q.kind,
    items: q.items,
    parts: q.parts,
    order: q.shown.map(item => q.items.indexOf(item))
  });
  async function flush() {
    if (sending || closed || !outbox.rows.length) return;
    sending = true;
    while (outbox.rows.length && !closed) {
      const batch = outbox.rows.slice(0, 50);
      batch.forEach(row => { row.sent = true; });
      try {
        const reply =
          await transport.send(batch.map(row => row.entry), ahead + (now ? 1 : 0), kept(), heldIds());
        outbox.drop(batch);
        waiting = null;
        failures = 0;
        const newest = batch.at(-1);
        if (newest.pressed) measured.saved.push(performance.now() - newest.pressed);
        settle(reply.results ?? [], batch);
        take(reply);
        if (newest.words && !refused) {
          showLast(t('said.saved', {answer: newest.words}), newest.glyph);
          say(t('said.next', {answer: newest.words, n: answered + 1, question: title.textContent}));
        }
        strips();
        meter();
        if (!now) queue.length ? next() : idle(reply);
      } catch (error) {
        batch.forEach(row => { row.sent = false; });
        fail(error);
        if (error.kind === 'ended') break;
        if (error.kind === 'refused') {
          await outbox.drop(batch);
          bringBack(batch[0], error.message);
          continue;
        }
        await new Promise(resolve => {
          const timer = setTimeout(resolve, retry * 1000);
          wake = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      }
    }
    sending = false;
  }
  let wake = () => {};
  function settle(results, batch) {  // each entry's own fate
    results.forEach((result, i) => {
      if (result.status === 'refused' || result.status === 'conflict')
        bringBack(batch[i], result.detail ?? t('refused.conflict'));
    });
  }
  function bringBack(row, why) {  // an answer that was not taken: its question comes back, aloud
    refused = why;
    answered = Math.max(0, answered - 1);
    if (!row?.question) {
      strips();
      return;
    }
    const at = past.findIndex(one => one.id === row.entry.submission_id);
    if (at >= 0) past.splice(at, 1);
    const q = draw({...row.question, question_id: row.question.question_id}, t, actions);
    if (now) queue.unshift(now);
    queue.unshift(q);
    next();
    say(t('strip.refused', {why}));
  }
  function fail(error) {
    const kind = error.kind ?? 'refused';
    failures += 1;
    if (!error.kind) console.warn(error);
    retry = error.wait || Math.min(15, .25 * 2 ** Math.min(failures, 6)) * (.75 + Math.random() / 2);
    if (kind === 'ended') {
      waiting = 'ended';
      closed = true;
      stopEvents();
      state('ended', {n: outbox.rows.length}, []);
      return;
    }
    if (kind !== 'refused') {
      waiting = kind;
      waitingWhy = error.message;
    } else refused = error.message;
    strips();
  }

  // --- undo, without end
  async function undo() {
    if (waiting === 'storage' || mode === 'ended') return;
    if (!past.length && transport.earlier) {
      try {
        const reply = await transport.earlier(options.before);
        options.before = reply.next ?? options.before;
        for (const one of reply.answers)
          if (!past.some(p => p.id === one.id)) past.unshift({id: one.id, question: one.question});
      } catch (error) {
        fail(error);
        return;
      }
    }
    const one = past.pop();
    if (!one) {
      say(t('undo.none'));
      showLast(t('undo.none'));
      return;
    }
    outbox.add({entry: {submission_id: uuid(), revokes: one.id}});
    answered = Math.max(0, answered - 1);
    last = null;
    if (now) queue.unshift(now);
    const {question_id, ...same} = one.question;
    now = null;
    queue.unshift(draw({...same, node: null, question_id: `@${one.id}`, again: true}, t, actions));
    showLast(t('undo.done'));
    say(t('undo.done'));
    next();
    flush();
  }

  // --- confirm: ticks
  function confirmWords() {
    const n = now.ticked.size, b = answers.querySelector('[data-key=send] .word');
    if (b) b.textContent = n ? t('answer.confirm.some', {n}) : t('answer.confirm');
  }
  function tick(id, button) {
    if (!now?.ticked) return;
    now.ticked.has(id) ? now.ticked.delete(id) : now.ticked.add(id);
    button.setAttribute('aria-pressed', now.ticked.has(id));
    confirmWords();
  }
  const confirmAnswer = at => now &&
    give([...now.ticked],
      now.ticked.size ? t('answer.confirm.some', {n: now.ticked.size}) : t('answer.confirm'), 'same', at);

  // --- zoom: every picture at the same relative place
  let zx = .5, zy = .5;
  const eachShot = () => root.querySelectorAll('.shot:has(img)');
  function aimAt() {
    eachShot().forEach(shot => {
      shot.querySelector('img').style.transformOrigin = `${zx * 100}% ${zy * 100}%`;
      const eye = shot.querySelector('.eye');
      eye.style.left = `${zx * 100}%`;
      eye.style.top = `${zy * 100}%`;
    });
  }
  function zoom() {
    if (!eachShot().length) return;
    main.classList.toggle('is-zoomed');
    aimAt();
    if (main.classList.contains('is-zoomed')) eachShot().forEach(sharpen);
  }
  function sharpen(shot) {
    const img = shot.querySelector('img'), full = new Image();
    if (img.dataset.full === img.src || !img.dataset.full) return;
    full.src = img.dataset.full;
    full.decode().then(() => { img.src = full.src; }).catch(() => {});
  }
  function aim(event, shot) {
    if (!main.classList.contains('is-zoomed')) return;
    const r = shot.getBoundingClientRect();
    zx = (event.clientX - r.left) / r.width;
    zy = (event.clientY - r.top) / r.height;
    aimAt();
  }

  // --- sound: one at a time
  const sounds = () => [...stage.querySelectorAll('.sound')];
  function silence() {
    document.querySelectorAll('.sound').forEach(node => node.audio?.pause());
    remembered = null;
  }
  function play(node) {
    const on = !node.audio.paused;
    sounds().forEach(other => other.audio.pause());
    remembered = node;
    if (!on) node.audio.play().catch(() => {});
  }
  function ended(node) {
    node.audio.currentTime = 0;
    const all = sounds(), after = all[all.indexOf(node) + 1];
    if (after)
      setTimeout(() => {
        if (after.isConnected && after.audio.paused) play(after);
      }, 400);
  }
  const actions = {zoom, aim, play, ended, tick};

  // --- dialogs
  function dialog(name, ...body) {
    const box = h('dialog', {'aria-labelledby': `${name}-h`, class: `d-${name}`},
      h('h2', {id: `${name}-h`}, t(`dialog.${name}`)), ...body);
    box.addEventListener('close', () => {
      box.remove();
      title.focus({preventScroll: true});
    });
    root.append(box);
    box.showModal();
    return box;
  }
  function openFlag(event) {
    const q = now;
    if (!q) return;
    const at = event?.timeStamp ?? performance.now(),
          reasons = ['not_comparable', 'broken', 'several', 'foreign'];
    const tags = q.kind === 'confirm' ?
      q.shown.map(
        (_, i) => i < q.parts[0] ? t('item.example', {group: 1, i: i + 1}) : `${i - q.parts[0] + 1}`) :
      q.kind === 'which_of' ? q.shown.map((_, i) => i ? t('item.example', {group: '', i}) : 'A') :
                              [...ORDER[q.kind]];
    const which =
      h('fieldset', {class: 'stack', hidden: true}, h('legend', {class: 'faint'}, t('flag.which')),
        h('div', {class: 'row'},
          ...q.shown.map((item, i) => h('label', {class: 'check'},
                           h('input', {type: 'checkbox', name: 'bad', value: i}), tags[i] ?? `${i + 1}`))));
    const error = h('p', {class: 'error', role: 'alert'});
    const radios = reasons.map((reason, i) => h('label', {class: 'check'}, h('input', {
      type: 'radio',
      name: 'reason',
      value: reason,
      checked: i === 0,
      onchange: () => { which.hidden = i === 0; }
    }),
                                 t(`flag.${reason}`)));
    const form = h('form', {method: 'dialog', class: 'stack'}, ...radios, which, error,
      h('div', {class: 'row'},
        h('button', {class: 'btn', value: 'cancel', formnovalidate: true}, t('cancel')),
        h('button', {class: 'btn main', value: 'go'}, t('flag.go'))));
    form.addEventListener('submit', event => {
      if (event.submitter?.value !== 'go') return;
      const reason = form.elements.reason.value;
      if (reason === 'not_comparable') {
        box.close();
        give('not_comparable', t('flag.said.not_comparable'), null, at);
        return;
      }
      const bad = [...form.querySelectorAll('[name=bad]:checked')].map(input => q.shown[input.value].id);
      if (!bad.length) {
        event.preventDefault();
        error.textContent = t('flag.none');
        return;
      }
      q.note = [t(`flag.${reason}`), q.note].filter(Boolean).join('. ');
      box.close();
      give('bad_item', t('flag.said.bad_item'), null, at, {bad});
    });
    const box = dialog('flag', form);
  }
  function openNote() {
    const q = now;
    if (!q) return;
    const area = h('textarea', {rows: 3, maxlength: 2000, dir: 'auto'});
    area.value = q.note ?? '';
    const form =
      h('form', {method: 'dialog', class: 'stack'}, h('label', {class: 'field'}, t('note.label'), area),
        h('div', {class: 'row'}, h('button', {class: 'btn', value: 'cancel'}, t('cancel')),
          h('button', {class: 'btn main', value: 'go'}, t('note.go'))));
    form.addEventListener('submit', event => {
      if (event.submitter?.value === 'go') {
        q.note = area.value.trim();
        if (q.note) showLast(t('note.kept'));
      }
    });
    area.addEventListener('keydown', event => {
      if (event.key === 'Enter' && (event.ctrlKey || event.metaKey))
        form.requestSubmit(form.querySelector('.main'));
    });
    dialog('note', form);
    area.focus();
  }
  function openGuide() {
    if (settings.guideline)
      dialog('guide', h('div', {class: 'guide', dir: 'auto'}, settings.guideline),
        h('form', {method: 'dialog', class: 'row'}, h('button', {class: 'btn main'}, t('close'))));
  }
  function openHelp() {
    const names = ['1', '2', '3', '4', 'unsure', 'send', 'undo', 'zoom', 'sound', 'flag', 'note', 'guide'];
    dialog('keys',
      h('dl', {class: 'keys'},
        ...names.flatMap(name => [h('dt', {}, ...keyCaps(keys[name])), h('dd', {}, t(`key.${name}`))])),
      h('p', {class: 'faint'}, t('key.more')),
      h('form', {method: 'dialog', class: 'row'}, h('button', {class: 'btn main'}, t('close'))));
  }

  // --- keys
  function onKey(event) {
    if (closed || !root.isConnected || event.ctrlKey || event.altKey || event.metaKey || event.isComposing)
      return;
    const target = event.composedPath()[0];
    if (target.closest?.('input:not([type=range]):not([type=checkbox]), textarea, select, dialog[open]') ||
      root.querySelector('dialog[open]'))
      return;
    const key = event.key.toLowerCase();
    if (key.startsWith('arrow') && main.classList.contains('is-zoomed')) {
      const [dx, dy] = {arrowleft: [-.05, 0], arrowright: [.05, 0], arrowup: [0, -.05], arrowdown: [0,
                          .05]}[key];
      zx = Math.min(1, Math.max(0, zx + dx));
      zy = Math.min(1, Math.max(0, zy + dy));
      aimAt();
      event.preventDefault();
      return;
    }
    if (key === 'escape') {
      main.classList.remove('is-zoomed');
      return;
    }
    if (event.repeat || !singleKeys) return;
    const action = Object.keys(keys).find(
      name => name === 'send' ? keys[name] === key : key.length === 1 && keys[name].includes(key));
    if (!action) return;
    if ((key === ' ' || key === 'enter') && target.closest?.('button, a, input, summary')) return;
    const button = /^\d$|unsure|send/.test(action) ? answers.querySelector(`[data-key="${action}"]`) : null;
    if (/^\d$/.test(action) && now?.kind === 'confirm') {
      root.querySelectorAll('.members .pick')[action - 1]?.click();
      event.preventDefault();
      return;
    }
    if (button) {
      event.preventDefault();
      press(button, event.timeStamp);
      return;
    }
    const acts = {
      undo,
      flag: () => openFlag(event),
      note: openNote,
      zoom,
      sound: () => {
        const all = sounds();
        if (all.length) play(remembered ?? all[0]);
      },
      guide: openGuide,
      help: openHelp
    };
    if (acts[action]) {
      event.preventDefault();
      acts[action]();
    }
  }
  function press(button, at) {
    button.classList.add('is-hit');
    setTimeout(() => button.classList.remove('is-hit'), 180);
    const key = button.dataset.key;
    if (key === 'unsure') give('dont_know', t('answer.unsure'), 'unsure', at);
    else if (key === 'send') confirmAnswer(at);
    else if (now) {
      const [answer, , words, glyph] = choices(now).find(one => one[1] === key);
      give(answer, words ? t(words) : t('answer.group', {n: key}), glyph, at);
    }
  }

  // --- life
  const online = () => {
    wake();
    flush();
  };
  const leave = () => {
    if (heldIds().length && !outbox.rows.length) transport.release?.(heldIds());
  };
  const keyTarget = options.keyTarget ?? document;
  keyTarget.addEventListener('keydown', onKey);
  addEventListener('online', online);
  addEventListener('pagehide', leave);
  const heartbeat = setInterval(() => {
    if (!document.hidden && now && !sending && !waiting) top();
  }, 45000);
  stopEvents = transport.events?.(event => {
    if (event.behind !== undefined) options.behind = event.behind;
    if (event.progress !== undefined) progress = event.progress;
    if (mode === 'asking') {
      strips();
      meter();
    } else if (!now && mode !== 'ended') top();
  }) ??
    stopEvents;
  for (const row of outbox.rows)
    if (row.entry.revokes) {
      const at = past.findIndex(one => one.id === row.entry.revokes);
      if (at >= 0) past.splice(at, 1);
    } else if (row.question) past.push({id: row.entry.submission_id, question: row.question});
  if (options.again) queue.push(draw(options.again, t, actions));
  if (options.first) {
    take(options.first);
    queue.length ? next() : idle(options.first);
    flush();
  } else {
    flush();
    top();
  }
  return {
    stop(name, values, acts) {
      closed = true;
      stopEvents();
      if (name) state(name, values, acts);
    },
    close() {
      closed = true;
      stopEvents();
      clearInterval(heartbeat);
      clearTimeout(idleTimer);
      keyTarget.removeEventListener('keydown', onKey);
      removeEventListener('online', online);
      removeEventListener('pagehide', leave);
    },
    measured,
  };
}
export const keyCaps = shortcut => (shortcut.length > 3 ?
    [shortcut] :
    [...shortcut]).map(c => h('kbd', {}, {' ': 'Space', enter: 'Enter'}[c] ?? c.toUpperCase()));

// ---------------------------------------------------------------- the ask page itself

/** Only one tab asks: the other offers to take over. */
async function oneTab(name, start) {
  if (!navigator.locks) return start(() => {});
  const run = steal => navigator.locks
                         .request(name, steal ? {steal: true} : {ifAvailable: true},
                           lock => {
                             if (!lock) return start(null, () => run(true));
                             return new Promise(() => start(() => {}));
                           })
                         .catch(() => start(undefined, () => run(true)));  // stolen by another tab
  return run(false);
}
export async function start(data) {
  const root = document.getElementById('ask'), saved = document.getElementById('saved'),
        t = translator(data.strings);
  const stored = name => {
    try {
      return localStorage.getItem(name);
    } catch { return null; }
  };
  const onSaved = (n, waiting) => {
    if (!saved) return;
    saved.classList.toggle('is-off', Boolean(waiting));
    saved.replaceChildren(icon(waiting ? 'off' :
                              n        ? 'clock' :
                                         'check'),
      h('span', {class: waiting ? '' : 'lbl'},
        waiting ? t('saved.kept', {n}) :
          n     ? t('saved.saving') :
                  t('saved.all')));
  };
  const box = `clew ${data.project} ${data.me}`;
  let page = null;
  await oneTab(box, async (lock, take) => {
    if (!lock) {
      const words = h('button', {
        class: 'btn main',
        type: 'button',
        onclick: () => {
          page = null;
          take();
        }
      },
        t('state.two_tabs.take'));
      if (page) page.stop('two_tabs', {}, [words]);
      else mount(root, {lease: () => new Promise(() => {})}, {...data}).stop('two_tabs', {}, [words]);
      return;
    }
    const keys = JSON.parse(stored('clew-keys') ?? '{}');
    if (data.again) history.replaceState(null, '', location.pathname);  // a reload asks on
    page = mount(root, httpTransport(data.base), {
      ...data,
      outbox: await openOutbox(box),
      onSaved,
      keys,
      singleKeys: stored('clew-single-keys') !== 'off',
      ahead: Number(stored('clew-ahead')) || AHEAD
    });
  });
}
const data = typeof document === 'undefined' ? null : document.getElementById('ask-data');
if (data) start(JSON.parse(data.textContent));
