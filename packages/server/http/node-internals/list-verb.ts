import type { IncomingMessage, Server } from 'node:http'
import type { Socket } from 'node:net'

/** An error of node's HTTP parser. */
interface ParseError extends NodeJS.ErrnoException {
  /** Offset in `rawPacket` of the byte that it refuses; meaningless when it had already refused an earlier one. */
  readonly bytesParsed?: number
  /** The bytes of the read that it was given. */
  readonly rawPacket?: Buffer
}

/** Tells node of the bytes that were parsed, or of the error. */
type AfterExecute = (result: number | ParseError) => void

/** Node's HTTP parser, the object behind `socket.parser` of a server (node_http_parser.cc). */
interface NodeParser {
  execute(bytes: Uint8Array): number | ParseError
  initialize(type: number, resource: object, maxHeaderBytes: number, leniency: number, list: object): void
  /** Takes it off the list of connections, on which it is sorted by the time of its message. */
  remove(): void
  /** A copy of the bytes of the read that was parsed last. */
  getCurrentBuffer(): Buffer
  /** At `kOnExecute`: called after each read by the parser from the socket itself. */
  [callback: number]: unknown
}

interface NodeParserClass {
  readonly REQUEST: number
  readonly kOnExecute: number
}

/** The parser of a connection; undefined if this release of node stores it elsewhere, or has detached it. */
function getParser(socket: Socket): NodeParser | undefined {
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

/** Node's own follow-up of a read; undefined if there is none. */
function getAfterExecute(parser: NodeParser): AfterExecute | undefined {
  const found = parser[getParserClass(parser).kOnExecute]
  return typeof found === 'function' ? (found as AfterExecute) : undefined
}

function setAfterExecute(parser: NodeParser, callback: AfterExecute): void {
  parser[getParserClass(parser).kOnExecute] = callback
}

/**
 * Makes the parser ready for a request, with nothing of the last one in it, as node does for a new connection. It stays
 * that of its socket, with the replies that wait, and has the limits of its server: strict, of this size and time.
 * @returns false: this release of node stores its connections elsewhere; nothing was done
 */
function restartParser(parser: NodeParser, server: Server, socket: Socket): boolean {
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

/** The connections that node checks for slow requests. */
function getConnectionsList(server: Server): object | undefined {
  const symbol = Object.getOwnPropertySymbols(server).find(
    ({ description }) => description === 'http.server.connections',
  )
  const list: unknown = symbol && Reflect.get(server, symbol)
  return typeof list === 'object' && list !== null ? list : undefined
}

/** Lets the requests of a server have the verb LIST. */
export interface ListVerb {
  /** To be called for each new connection, once node has given it its parser. */
  watch(socket: Socket): void
  /**
   * To be called with the data that the parser refuses.
   * @returns true: it was a LIST, or the beginning of one, and there is nothing to refuse
   */
  accept(error: ParseError, socket: Socket): boolean
  /** To be called once for each request with the verb of `standInVerb`: whether it was sent as a LIST. */
  isList(message: IncomingMessage): boolean
}

/** The verb that node's parser sees instead of LIST: of the same length, and no operation's. */
export const standInVerb = 'LINK'
const sent = Buffer.from('LIST ')
const seen = Buffer.from(`${standInVerb} `)
/** The parser knows verbs that begin with these bytes, so it refuses the verb after them. */
const knownBytes = 2
/** As many bytes of earlier reads are remembered. */
const rememberedBytes = 4

/** State of the bytes of a connection. */
interface Reading {
  readonly parser: NodeParser
  /** Node's own. */
  readonly afterExecute: AfterExecute
  /** The last bytes of earlier reads, as far as they are known. */
  before: Buffer
  /** The beginning of a request that may become a LIST. */
  held: Buffer
  /** The next request is a LIST. */
  listed: boolean
  /** The parser has refused bytes that are not a LIST. It also refuses all that follows, which is no request. */
  refused: boolean
}

const nothing = Buffer.alloc(0)
/** By their sockets. */
const readings = new WeakMap<Socket, Reading>()

/**
 * Clients of Vault request lists with the verb LIST, which node's parser (llhttp) refuses at its third byte. Then the
 * parser is initialized again and reads the same bytes with LINK in the place of LIST. So limits, timeouts and the
 * order of replies are the same as for other verbs, and other requests have no additional cost. See
 * docs/adr/node-performance.md.
 *
 * A LIST is known by its bytes alone. Two kinds are refused: a LIST directly after a body that ends with `UN`
 * (it could be the verb UNLIST), and a LIST of which the first or second byte came at the end of a read that
 * was longer than four bytes.
 */
export function acceptListVerb(server: Server): ListVerb {
  /** @param begin offset of the request that the parser refused */
  function advance(reading: Reading, socket: Socket, bytes: Buffer, begin: number): boolean {
    let found = matchVerb(bytes, begin)
    if (found === 'other') return false
    let rest = bytes
    let start = begin
    while (found === 'list') {
      if (!restartParser(reading.parser, server, socket)) return false
      reading.held = nothing
      reading.listed = true
      rest = rest.subarray(start + sent.length)
      const result = parse(reading, rest)
      if (getParser(socket) !== reading.parser) return true
      start = findRefusedBegin(result)
      found = matchVerb(rest, start)
      if (found === 'other') {
        reading.refused = typeof result !== 'number'
        reading.afterExecute(result)
        return true
      }
    }
    reading.held = copyBytes(rest.subarray(start))
    return true
  }

  function acceptFrom(reading: Reading, error: ParseError, socket: Socket): boolean {
    const { before, held } = reading
    const { rawPacket = nothing } = error
    if (held.length > 0) return advance(reading, socket, Buffer.concat([held, rawPacket]), 0)
    const begin = findRefusedBegin(error)
    if (begin > 0 || before.length === 0) return advance(reading, socket, rawPacket, begin)
    return advance(reading, socket, Buffer.concat([before, rawPacket]), begin + before.length)
  }

  return {
    watch,
    isList,
    accept(error, socket) {
      const reading = readings.get(socket)
      if (reading === undefined || reading.refused) return false
      const accepted = error.code === refusedVerb && acceptFrom(reading, error, socket)
      reading.refused ||= !accepted
      return accepted
    },
  }
}

/** Of a connection that is read through its stream: to be called with each read, once it was parsed. */
export function rememberRead(socket: Socket, bytes: Buffer): void {
  const reading = readings.get(socket)
  if (reading !== undefined) remember(reading, bytes)
}

function watch(socket: Socket): void {
  const parser = getParser(socket)
  const afterExecute = parser && getAfterExecute(parser)
  if (parser === undefined || afterExecute === undefined) return
  const reading: Reading = {
    parser,
    afterExecute,
    before: nothing,
    held: nothing,
    listed: false,
    refused: false,
  }
  readings.set(socket, reading)
  setAfterExecute(parser, (result) => {
    if (typeof result === 'number') {
      // getCurrentBuffer() copies the bytes of a read.
      if (result > rememberedBytes) reading.before = nothing
      else remember(reading, parser.getCurrentBuffer())
    }
    afterExecute(result)
  })
}

function isList({ socket }: IncomingMessage): boolean {
  const reading = readings.get(socket)
  if (reading?.listed !== true) return false
  reading.listed = false
  return true
}

/** Passes the parser a request with the other verb, and the data after it. */
function parse(reading: Reading, rest: Buffer): number | ParseError {
  const result = reading.parser.execute(seen)
  remember(reading, rest)
  return rest.length === 0 ? result : reading.parser.execute(rest)
}

const refusedVerb = 'HPE_INVALID_METHOD'

/** Offset of the request whose verb was refused, if it is a LIST; negative: in an earlier read, or not found. */
function findRefusedBegin(result: number | ParseError): number {
  if (typeof result === 'number' || result.code !== refusedVerb) return -rememberedBytes - 1
  return (result.bytesParsed ?? 0) - knownBytes
}

function matchVerb(bytes: Buffer, begin: number): 'list' | 'part' | 'other' {
  if (begin < 0 || mayBeUnlist(bytes, begin)) return 'other'
  const length = Math.min(sent.length, bytes.length - begin)
  if (length <= knownBytes || bytes.compare(sent, 0, length, begin, begin + length) !== 0) return 'other'
  return length < sent.length ? 'part' : 'list'
}

/** The parser knows the verb UNLINK, too, and refuses UNLIST at the same byte. */
function mayBeUnlist(bytes: Buffer, begin: number): boolean {
  return bytes[begin - 1] === 0x4e && (begin === 1 || bytes[begin - 2] === 0x55)
}

function remember(reading: Reading, bytes: Buffer): void {
  const known = bytes.length < rememberedBytes ? Buffer.concat([reading.before, bytes]) : bytes
  reading.before = copyBytes(known.subarray(-rememberedBytes))
}

/** A separate buffer: a slice of a shared pool would keep the whole pool in memory for the life of the connection. */
function copyBytes(bytes: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length)
  bytes.copy(copy)
  return copy
}
