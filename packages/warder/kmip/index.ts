/** `warder kmip`: a client for raw messages, and a decoder of dumps. */
export { type Connection, type Endpoint, openConnection, type Transport, transports } from './connection.ts'
export type { ExplainOptions, Explanation } from './explain.ts'
