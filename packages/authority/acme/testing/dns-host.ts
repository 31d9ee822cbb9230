import { createSocket } from 'node:dgram'
import type { AddressInfo } from 'node:net'

/** A DNS server for tests: every name resolves to 127.0.0.1, and tests set the TXT records. */
export interface DnsHost extends AsyncDisposable {
  readonly port: number
  /** By name, in lower case. */
  readonly texts: Map<string, string>
  /** CAA records of names: tag and value. */
  readonly caas: Map<string, readonly (readonly [tag: string, value: string])[]>
  /** Names that do not exist. */
  readonly missing: Set<string>
}

const types = { A: 1, TXT: 16, CAA: 257 } as const
const noSuchName = 3

export async function dnsHost(): Promise<DnsHost> {
  const texts = new Map<string, string>()
  const caas: DnsHost['caas'] = new Map()
  const missing = new Set<string>()
  const socket = createSocket('udp4')
  socket.on('message', (query, peer) => {
    const { name, type, end } = questionIn(query)
    const text = texts.get(name)
    const data =
      type === types.A
        ? Buffer.from([127, 0, 0, 1])
        : type === types.TXT && text !== undefined
          ? Buffer.concat([Buffer.from([text.length]), Buffer.from(text)])
          : undefined
    const isMissing = missing.has(name)
    const all = type === types.CAA ? (caas.get(name) ?? []).map(caaData) : data === undefined ? [] : [data]
    const answer = isMissing ? [] : all.map((each) => findRecord(type, each))
    const head = Buffer.alloc(12)
    head.writeUInt16BE(query.readUInt16BE(0), 0)
    head.writeUInt16BE(0x8180 | (isMissing ? noSuchName : 0), 2)
    head.writeUInt16BE(1, 4)
    head.writeUInt16BE(answer.length, 6)
    socket.send(Buffer.concat([head, query.subarray(12, end), ...answer]), peer.port, peer.address)
  })
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve))
  return {
    port: (socket.address() as AddressInfo).port,
    texts,
    caas,
    missing,
    [Symbol.asyncDispose]: () => new Promise((resolve) => socket.close(() => resolve())),
  }
}

/** RFC 8659 §4.1: no flags, the length of the tag, the tag, the value. */
function caaData([tag, value]: readonly [tag: string, value: string]): Buffer {
  return Buffer.concat([Buffer.from([0, tag.length]), Buffer.from(tag + value)])
}

/** RFC 1035 §4.1.2, without compression. */
function questionIn(query: Buffer): { readonly name: string; readonly type: number; readonly end: number } {
  const labels: string[] = []
  let at = 12
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 }
}

/** RFC 1035 §4.1.3: its name is that of the question. */
function findRecord(type: number, data: Buffer): Buffer {
  const head = Buffer.from([0xc0, 12, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0])
  head.writeUInt16BE(type, 2)
  head.writeUInt16BE(data.length, 10)
  return Buffer.concat([head, data])
}
