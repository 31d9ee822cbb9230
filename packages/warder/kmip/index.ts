/** `warder kmip`: a client for messages as they are, and a reader for dumps of them. */
export { type Connection, type Endpoint, openConnection, type Transport, transports } from './connection.ts'
export type { ExplainOptions, Explanation } from './explain.ts'
