// Follows ask.js in a notebook: the same module, speaking to a session in the kernel by messages.
export default {
  render({model, el}) {
    const shadow = el.attachShadow({mode: 'open'}), look = document.createElement('style'),
          root = document.createElement('div');
    look.textContent = `${model.get('look')} :host { height: ${model.get('height')}px; }`;
    root.className = 'clew-widget';
    root.tabIndex = 0;
    shadow.innerHTML = model.get('sprite');
    shadow.append(look, root);
    let n = 0;
    const waiting = new Map();
    const call = (verb, body) => new Promise((resolve, reject) => {
      n += 1;
      waiting.set(n, [resolve, reject]);
      model.send({verb, n, ...body});
    });
    model.on('msg:custom', message => {
      const [resolve, reject] = waiting.get(message.n) ?? [];
      waiting.delete(message.n);
      message.error ? reject?.(failure('refused', message.error)) : resolve?.(message.reply);
    });
    const page = mount(root,
      {lease: n => call('lease', {count: n}), send: (answers, n) => call('send', {answers, count: n})},
      {strings: model.get('strings'), settings: model.get('settings'), keyTarget: root});
    return () => page.close();
  }
};
