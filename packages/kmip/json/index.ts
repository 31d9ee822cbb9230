/**
 * KMIP as JSON (KMIP Profiles 2.1 §5.5): strict in what it writes, tolerant in what it reads. `decodeJson` and
 * `encodeJson` are for whole messages; `parseRoot`, `decodeMembers` and `encodeJsonAs` serve bare operations, whose
 * root names an operation and is no tag.
 */
export { decodeJson, decodeMembers, parseRoot } from './decode.ts'
export type { JsonNode } from './dialect.ts'
export { encodeJson, type JsonForm, jsonValue } from './encode.ts'
export { asksForFetchForm, encodeJsonForFetch } from './fetch-form.ts'
export { type Tolerance, tolerances } from './tolerances.ts'
