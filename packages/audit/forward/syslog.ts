import { isIP } from 'node:net'
import { connect, type TLSSocket } from 'node:tls'
import { findRoute, loadTrustedAuthorities, type OutboundAccess, openConnection } from '@warder/outbound'
import type { ReadRecord } from '../reader.ts'
import type { ForwardTarget } from './forwarder.ts'

export interface SyslogOptions extends OutboundAccess {
  readonly host: string
  readonly port: number
  readonly timeoutMs: number
}

/** RFC 5424 §6.2.1: facility 13 is "log audit". */
const facility = 13
const severities = { success: 6, failure: 4 } as const
const byteOrderMark = '\ufeff'

/**
 * Syslog over TLS (RFC 5425): messages of RFC 5424, each preceded by its length. The protocol has no
 * acknowledgements: messages that were written to a connection that breaks before the next batch are sent
 * again.
 */
export function createSyslogTarget(options: SyslogOptions): ForwardTarget {
  let socket: TLSSocket | undefined
  /** Messages that are lost if the connection breaks. */
  let unsure: Buffer | undefined
  const getConnection = async (): Promise<TLSSocket> => {
    if (socket !== undefined && !socket.destroyed && socket.writable) return socket
    socket?.destroy()
    socket = await connectSecurely(options)
    if (unsure !== undefined) await writeBytes(socket, unsure, options.timeoutMs)
    return socket
  }
  return {
    name: 'syslog',
    async send(records) {
      const bytes = Buffer.concat(records.map(frameMessage))
      const open = await getConnection()
      await writeBytes(open, bytes, options.timeoutMs)
      unsure = bytes
    },
    close() {
      socket?.end()
      socket = undefined
    },
  }
}

async function connectSecurely({ host, port, timeoutMs, ...access }: SyslogOptions): Promise<TLSSocket> {
  const deadline = AbortSignal.timeout(timeoutMs)
  const route = await findRoute({ host, port, scheme: 'tls' }, access, deadline)
  const connection = await openConnection(route, deadline)
  return new Promise((resolve, reject) => {
    const socket = connect({
      socket: connection,
      host,
      ...(isIP(host) === 0 && { servername: host }),
      ...loadTrustedAuthorities(access.caFile),
      // Of a connection whose authorities are the usual ones; a context of its own has Node's default, which is the same.
      minVersion: 'TLSv1.2',
      rejectUnauthorized: true,
    })
    const late = (): void => void socket.destroy(new Error('the deadline has passed'))
    deadline.addEventListener('abort', late, { once: true })
    // The next write notices a closed connection.
    socket.on('error', reject)
    socket.once('secureConnect', () => {
      deadline.removeEventListener('abort', late)
      socket.setKeepAlive(true, 30_000)
      // Data of the server is discarded, so it cannot fill the memory.
      socket.resume()
      resolve(socket)
    })
    socket.once('close', () => reject(new Error('the server closed the connection')))
  })
}

/** Resolves when the system has accepted the bytes. */
function writeBytes(socket: TLSSocket, bytes: Buffer, timeoutMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => {
      reject(new Error('the server does not accept data'))
      socket.destroy()
    }, timeoutMs)
    const gone = (): void => reject(new Error('the server closed the connection'))
    socket.once('close', gone)
    socket.write(bytes, (error) => {
      clearTimeout(late)
      socket.off('close', gone)
      if (error === undefined || error === null) resolve()
      else reject(error)
    })
  })
}

function frameMessage({ line }: ReadRecord): Buffer {
  const message = Buffer.from(formatSyslogMessage(line))
  return Buffer.concat([Buffer.from(`${message.length} `), message])
}

/** A record in the format of RFC 5424: the whole line is the message. */
export function formatSyslogMessage(line: string): string {
  const record = JSON.parse(line) as Readonly<Record<'time' | 'node' | 'service' | 'operation', unknown>> & {
    readonly outcome: unknown
  }
  const severity = record.outcome === 'success' ? severities.success : severities.failure
  const head = [
    `<${facility * 8 + severity}>1`,
    String(record.time),
    formatWord(record.node, 255),
    formatWord(`warder-${record.service}`, 48),
    '-',
    formatWord(record.operation, 32),
    '-',
  ]
  return `${head.join(' ')} ${byteOrderMark}${line}`
}

/** RFC 5424 §6: printable US-ASCII without spaces; an empty value is `-`. */
function formatWord(value: unknown, maxLength: number): string {
  const text = String(value)
    .replace(/[^!-~]/g, '_')
    .slice(0, maxLength)
  return text === '' ? '-' : text
}
