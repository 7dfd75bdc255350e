// FILE_CONTENT for JavaScript and TypeScript: text, bytes that are not UTF-8 become U+FFFD.
globalThis.FILE_CONTENT_PATH = process.env.FILE_CONTENT_PATH;
globalThis.FILE_CONTENT = require("fs").readFileSync(globalThis.FILE_CONTENT_PATH, "utf8");
