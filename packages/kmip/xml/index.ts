/**
 * KMIP as XML (KMIP Profiles 2.1 §5.4) with a parser of its own that knows no DTD: nothing can be declared, expanded
 * or fetched. `parseXml` and `nodeOfElement` are for documents that hold several messages.
 */
export { decodeXml, nodeOfElement } from './decode.ts'
export { encodeXml } from './encode.ts'
export { parseXml, type XmlElement } from './parse.ts'
