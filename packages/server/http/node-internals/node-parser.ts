import type { Server } from 'node:http'
import type { Socket } from 'node:net'

/** An error of node's HTTP parser. */
export interface ParseError extends NodeJS.ErrnoException {
  /** Where in `rawPacket` the byte is that it refuses; means nothing when it had refused an earlier one already. */
  readonly bytesParsed?: number
  /** The bytes of the read that it was given. */
  readonly rawPacket?: Buffer
}

/** Tells node of the bytes that were parsed, or of the error. */
export type AfterExecute = (result: number | ParseError) => void

/** Node's HTTP parser, the object behind `socket.parser` of a server (node_http_parser.cc). */
export interface NodeParser {
  execute(bytes: Uint8Array): number | ParseError
  initialize(type: number, resource: object, maxHeaderBytes: number, leniency: number, list: object): void
  /** Takes it off the list of connections, on which it is sorted by the time of its message. */
  remove(): void
  /** A copy of the bytes of the read that was parsed last. */
  getCurrentBuffer(): Buffer
  /** At `kOnExecute`: called after each read that the parser takes from the socket itself. */
  [callback: number]: unknown
}

interface NodeParserClass {
  readonly REQUEST: number
  readonly kOnExecute: number
}

/** The parser of a connection; undefined where this release of node keeps it elsewhere, or has taken it off. */
export function getParser(socket: Socket): NodeParser | undefined {
  const { parser } = socket as { parser?: Partial<NodeParser> | null }
  const complete =
    typeof parser?.execute === 'function' &&
    typeof parser.initialize === 'function' &&
    typeof parser.remove === 'function' &&
    typeof parser.getCurrentBuffer === 'function'
  return complete ? (parser as NodeParser) : undefined
}

function getParserClass(parser: NodeParser): NodeParserClass {
  return parser.constructor as unknown as NodeParserClass
}

/** Node's own follow-up of a read; undefined where there is none. */
export function getAfterExecute(parser: NodeParser): AfterExecute | undefined {
  const found = parser[getParserClass(parser).kOnExecute]
  return typeof found === 'function' ? (found as AfterExecute) : undefined
}

export function setAfterExecute(parser: NodeParser, callback: AfterExecute): void {
  parser[getParserClass(parser).kOnExecute] = callback
}

/**
 * Makes the parser ready for a request, with nothing of the last one in it, as node does for a new connection. It stays
 * that of its socket, with the replies that wait, and has the limits of its server: strict, of this size and time.
 * @returns false: this release of node keeps its connections elsewhere; nothing was done
 */
export function restartParser(parser: NodeParser, server: Server, socket: Socket): boolean {
  const list = getConnectionsList(server)
  if (list === undefined) return false
  const { maxHeaderSize } = server as { maxHeaderSize?: number }
  parser.remove()
  parser.initialize(
    getParserClass(parser).REQUEST,
    { type: 'HTTPINCOMINGMESSAGE', socket },
    maxHeaderSize ?? 0,
    strict,
    list,
  )
  return true
}

/** `HTTPParser.kLenientNone`. */
const strict = 0

/** The connections whose requests node looks at for those that are too slow. */
function getConnectionsList(server: Server): object | undefined {
  const symbol = Object.getOwnPropertySymbols(server).find(
    ({ description }) => description === 'http.server.connections',
  )
  const list: unknown = symbol && Reflect.get(server, symbol)
  return typeof list === 'object' && list !== null ? list : undefined
}
