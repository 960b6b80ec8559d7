// Sources to the files that the package brings: one script, one style, one page.
import { build } from "esbuild";
import { copyFile } from "node:fs/promises";

const out = process.argv[2] ?? "../cortexdsl/explorer/built";
await build({
  entryPoints: { app: "src/main.tsx" },
  outdir: out,
  bundle: true,
  minify: true,
  target: "es2022",
  format: "iife",
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
  charset: "ascii",
  banner: { js: "/* cortexdsl explorer, Apache-2.0; holds Preact, MIT */" },
  logLevel: "warning",
});
await copyFile("src/index.html", `${out}/index.html`);
