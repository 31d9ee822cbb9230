/** `warder kmip`: a client for messages as they are, and a reader for dumps of them. */
export { type Connection, type Endpoint, openConnection, type Way, ways } from './connection.ts'
export type { Explained, ExplainOptions } from './explain.ts'
