/**
 * A page of the book in the cell of a notebook, as anywidget wants it. The page sits in a frame, so
 * that neither its style nor its keys meet the notebook's; its requests go to the kernel.
 */
function theme() {
  const { jpThemeLight, vscodeThemeKind } = document.body.dataset;
  if (jpThemeLight) return jpThemeLight === 'true' ? 'light' : 'dark';
  if (vscodeThemeKind) return vscodeThemeKind.endsWith('light') ? 'light' : 'dark';
  return '';
}

function render({ model, el }) {
  const frame = document.createElement('iframe');
  frame.title = 'Kilogram';
  Object.assign(frame.style, { width: '100%', height: `${model.get('height')}px`, border: '0' });
  frame.srcdoc = model.get('html').replace('<html', `<html data-host="${theme()}"`);
  const ask = ({ source, data }) => {
    if (source === frame.contentWindow && data?.kilogram === 'ask') model.send(data.request);
  };
  // every view of the model sees every reply; the numbers of the requests say whose it is
  const reply = (content) => frame.contentWindow?.postMessage({ kilogram: 'reply', ...content }, '*');
  addEventListener('message', ask);
  model.on('msg:custom', reply);
  el.append(frame);
  return () => {
    removeEventListener('message', ask);
    model.off('msg:custom', reply);
  };
}

export default { render };
