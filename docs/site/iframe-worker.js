// Browsers start no worker for a page that is read from a file. The search of the site runs in a hidden frame then.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.waiting = [];
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      // The scripts that the worker imports are loaded one after the other, in the background.
      this.frame.srcdoc = `<body><script>
        window.postMessage = message => parent.postMessage(message, "*");
        window.importScripts = (...addresses) => addresses.reduce((before, address) => before.then(() => new Promise(done => {
          const script = document.createElement("script");
          script.src = address;
          script.onload = done;
          document.body.append(script);
        })), Promise.resolve());
      <\/script><script src="${new URL(url, location)}"><\/script></body>`;
      this.frame.onload = () => {
        this.waiting.forEach(message => this.deliver(message));
        this.waiting = null;
      };
      addEventListener("message", event => {
        if (event.source === this.frame.contentWindow) this.dispatchEvent(new MessageEvent("message", {data: event.data}));
      });
      document.body.append(this.frame);
    }

    deliver(message) {
      this.frame.contentWindow.dispatchEvent(new MessageEvent("message", {data: message}));
    }

    postMessage(message) {
      if (this.waiting) this.waiting.push(message);
      else this.deliver(message);
    }
  };
}
