// Entries to a file and from a file: NDJSON keeps every byte, CSV is for tables.  The server side writes and reads them.

import {h} from "/page/dom.js";
import {get, post} from "/page/api.js";
import {ask, say} from "/page/dialogs.js";
import {download, valueText} from "/page/values.js";
import {bytes, decoded, many} from "/page/words.js";

const MOST_BYTES = 8 * 1024 * 1024;
const TYPES = {ndjson: "application/x-ndjson", csv: "text/csv"};

function kinds() {
  return h("label", {}, h("span", {}, "Format"), h("select", {name: "kind"}, h("option", {value: "ndjson"}, "NDJSON, nothing lost"), h("option", {value: "csv"}, "CSV, a column for each field")));
}

export function exported(key, words, shown) {
  const {order, from, to, field, value, contains} = words;
  ask("Export what is shown", [h("p", {}, `${many(shown, "entry", "entries")}. For whole streams: forebay copy.`), kinds()], {
    label: "Save", submit: async ({kind}) => {
      const found = await get(`/streams/${key}/export`, {kind, order, from, to, field, value, contains, count: shown});
      download(`${decoded(key).replace(/[^\w.-]+/g, "_")}.${kind}`, found.text, TYPES[kind]);
      if (found.entries < shown) say(`The file holds only the first ${many(found.entries, "entry", "entries")}: it has reached its size limit. For more: forebay copy.`, "bad");
    },
  });
}

export function imported(key, view) {
  const file = h("input", {type: "file", name: "file", required: true, accept: ".ndjson,.jsonl,.csv", onchange: () => {
    form.querySelector("select[name=kind]").value = /\.csv$/i.test(file.files[0]?.name ?? "") ? "csv" : "ndjson";
  }});
  const form = h("div", {},
    h("p", {}, "A file that Export or forebay copy has written. All lines are read before the first entry is added."),
    h("label", {}, h("span", {}, "File"), file), kinds(),
    h("label", {}, h("span", {}, "IDs"), h("select", {name: "ids"}, h("option", {value: "new"}, "new IDs with the current time"), h("option", {value: "keep"}, "the IDs in the file"))));
  const sent = async ({kind, ids}) => ({kind, ids, text: await textOf(file.files[0])});
  ask("Import entries", form, {
    label: "Import",
    preview: async (words) => told(await post(`/streams/${key}/import-preview`, await sent(words))),
    submit: async (words) => {
      const done = await post(`/streams/${key}/import`, await sent(words));
      say(`${many(done.added, "entry", "entries")} added`);
      return view.again;
    },
  });
}

function told(found) {
  return [h("p", {}, `${many(found.entries, "entry", "entries")} would be added${found.entries > found.first.length ? `; the first ${found.first.length}:` : ":"}`),
    h("ol", {class: "first"}, found.first.map((entry) => h("li", {}, entry.id ? h("span", {class: "id"}, `${entry.id} `) : null, entry.fields.map(([name, value]) => `${valueText(name)}=${valueText(value)}`).join(" "))))];
}

async function textOf(file) {
  if (!file) throw new Error("Choose a file.");
  if (file.size > MOST_BYTES) throw new Error(`${file.name} is ${bytes(file.size)} large; at most ${bytes(MOST_BYTES)} can be imported here. For more: forebay copy.`);
  try {
    return new TextDecoder("utf-8", {fatal: true}).decode(await file.arrayBuffer());
  } catch {
    throw new Error(`${file.name} is not UTF-8 text.`);
  }
}
