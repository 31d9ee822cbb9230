import { connect, type TLSSocket } from 'node:tls'

export interface Reply {
  readonly status: number
  readonly body: Buffer
}

/** The first whole reply in the bytes and how many of them it took; undefined when it is not all there. */
export type ReadReply = (bytes: Buffer) => (Reply & { readonly length: number }) | undefined

export interface Endpoint {
  readonly host: string
  readonly port: number
  readonly ca: string
  /** Client certificate and its key, PEM. */
  readonly identity?: { readonly cert: string; readonly key: string } | undefined
}

/**
 * One connection that sends ready-made bytes and reads replies. It does much less than a client of the protocol, so that
 * the machine's time goes to the server that is measured.
 */
export interface Connection {
  exchange(request: Uint8Array): Promise<Reply>
  close(): void
}

export function openConnection({ identity, ...place }: Endpoint, read: ReadReply): Promise<Connection> {
  return new Promise((resolve, reject) => {
    const socket: TLSSocket = connect({ ...place, ...identity, servername: 'localhost' })
    socket.setNoDelay(true)
    let waiting: { resolve(reply: Reply): void; reject(error: Error): void } | undefined
    let received: Buffer = Buffer.alloc(0)
    const fail = (error: Error): void => {
      reject(error)
      waiting?.reject(error)
      waiting = undefined
    }
    socket.on('error', fail)
    socket.on('close', () => fail(new Error('the server closed the connection')))
    socket.on('data', (chunk: Buffer) => {
      received = received.length === 0 ? chunk : Buffer.concat([received, chunk])
      const reply = read(received)
      if (reply === undefined) return
      received = received.subarray(reply.length)
      const { resolve: answer } = waiting ?? { resolve: () => undefined }
      waiting = undefined
      answer(reply)
    })
    socket.once('secureConnect', () =>
      resolve({
        exchange: (request) =>
          new Promise<Reply>((answered, failed) => {
            waiting = { resolve: answered, reject: failed }
            socket.write(request)
          }),
        close: () => socket.destroy(),
      }),
    )
  })
}

/** A KMIP message over TCP: its length is in bytes 4 to 7 of its head of 8 (KMIP 2.1 §9). It has no status: 0. */
export function readFrame(bytes: Buffer): (Reply & { readonly length: number }) | undefined {
  if (bytes.length < 8) return undefined
  const length = 8 + bytes.readUInt32BE(4)
  return bytes.length < length ? undefined : { status: 0, body: bytes.subarray(0, length), length }
}

/** A reply over keep-alive HTTP/1.1 with a Content-Length. */
export function readReply(bytes: Buffer): (Reply & { readonly length: number }) | undefined {
  const head = bytes.indexOf('\r\n\r\n')
  if (head < 0) return undefined
  const text = bytes.toString('latin1', 0, head)
  const status = Number(text.slice(9, 12))
  const declared = /\r\ncontent-length: *(\d+)/i.exec(text)?.[1]
  if (declared === undefined && status !== 204) throw new Error(`a reply without Content-Length: ${text}`)
  const length = head + 4 + Number(declared ?? 0)
  if (bytes.length < length) return undefined
  return { status, body: bytes.subarray(head + 4, length), length }
}

/** The bytes of a request, made once and sent many times. */
export function requestBytes(
  method: string,
  path: string,
  host: string,
  headers: Readonly<Record<string, string>>,
  body: string | undefined,
): Buffer {
  const lines = [`${method} ${path} HTTP/1.1`, `Host: ${host}`]
  for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`)
  if (body !== undefined) {
    lines.push('Content-Type: application/json', `Content-Length: ${Buffer.byteLength(body)}`)
  }
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body ?? ''}`)
}
