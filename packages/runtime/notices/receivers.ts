import { createHmac } from 'node:crypto'
import { isIP, type Socket } from 'node:net'
import { type Clock, inHome, readPasswordFile, Secret } from '@warder/base'
import {
  findRoute,
  loadTrustedAuthorities,
  type Outbound,
  type OutboundSettings,
  openConnection,
  readOutboundAccess,
} from '@warder/outbound'
import type { NoticeConfig, NoticeSink } from '../config/notice-settings.ts'
import { formatMail, type OutgoingNotice, printable } from './mail-text.ts'
import { isLoopback } from './notices.ts'

/** A receiver of notices. */
export interface NoticeReceiver {
  readonly sink: NoticeSink
  /** Notices of one message. */
  readonly maxTogether: number
  /**
   * Delivers notices in one message.
   * @returns the reply of the receiver, printable
   * @throws NotDelivered
   */
  deliver(notices: readonly OutgoingNotice[]): Promise<string>
}

/** A receiver refused a message or cannot be reached. The message is printable, and contains no secret. */
export class NotDelivered extends Error {
  override readonly name = 'NotDelivered'
}

/** Longest part of a reply that is logged or shown. */
const maxReplyLength = 300

/**
 * The signature of a notice: `t=<Unix seconds>,v1=<HMAC-SHA256 of "t.body", in hex>`, in the header `Warder-Signature`.
 * A receiver compares it in constant time and refuses a `t` that is minutes old.
 */
function computeSignature(secret: Uint8Array, seconds: number, body: string): string {
  const mac = createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex')
  return `t=${seconds},v1=${mac}`
}

/** POST over HTTPS; each status below 300 accepts the notice. */
export function createWebhook(options: {
  readonly url: string
  readonly secret: string
  readonly outbound: Outbound
  readonly clock: Clock
}): NoticeReceiver {
  const { url, outbound, clock } = options
  const secret = Secret.fromText(options.secret)
  return {
    sink: 'webhook',
    maxTogether: 1,
    async deliver([notice]) {
      if (notice === undefined) return ''
      const { id, body, severity } = notice
      const seconds = Math.floor(clock.now() / 1000)
      const headers = {
        'content-type': 'application/json',
        'warder-signature': secret.use((bytes) => computeSignature(bytes, seconds, body)),
        'warder-notice-id': id,
        'warder-notice-severity': severity,
      }
      const reply = await outbound.post(url, Buffer.from(body), { headers }).catch((error: unknown) => {
        throw new NotDelivered(printable(String(error), maxReplyLength))
      })
      const said =
        `HTTP ${reply.status} ${printable(Buffer.from(reply.body).toString(), maxReplyLength)}`.trim()
      if (reply.status >= 300) throw new NotDelivered(said)
      return said
    },
  }
}

export interface MailerOptions {
  readonly config: NoticeConfig & OutboundSettings
  readonly home: string
  /** Names of the service and the node, for the subject. */
  readonly service: string
  readonly node: string
  readonly clock: Clock
  /** For a whole message, with the connection; default 30 s. */
  readonly timeoutMs?: number
}

const mailTimeoutMs = 30_000
/** Largest reply of a mail server to one command. */
const maxResponseBytes = 16_384
const maxMailNotices = 100

/** Mail over SMTP (RFC 5321), encrypted (RFC 3207, RFC 8314) except to the machine itself. */
export function createMailer(options: MailerOptions): NoticeReceiver {
  const { config, clock, timeoutMs = mailTimeoutMs } = options
  return {
    sink: 'email',
    maxTogether: maxMailNotices,
    async deliver(notices) {
      const signal = AbortSignal.timeout(timeoutMs)
      try {
        // Loaded on demand: most threads send no mail.
        const { createTransport } = await import('nodemailer')
        const mail = formatMail(notices, { ...options, now: clock.now() })
        const settings = readTransport(options)
        const connection = await connectToServer(options, signal)
        const { response, rejected } = await createTransport({ ...settings, connection }).sendMail({
          ...mail,
          from: config.notice_from,
          to: [...config.notice_to],
          disableFileAccess: true,
          disableUrlAccess: true,
          signal,
        })
        const refused = rejected.length === 0 ? '' : `; refused: ${rejected.join(', ')}`
        return printable(`${response}${refused}`, maxReplyLength)
      } catch (error) {
        throw new NotDelivered(describeMailError(error, signal, timeoutMs))
      }
    },
  }
}

/** Options of the connection. Files are read for each message, so that a new password counts without a restart. */
function readTransport({ config, home }: MailerOptions) {
  const { smtp_host: host = '', smtp_port: port, smtp_tls: tls, smtp_username: user } = config
  const { smtp_password_file: passwordFile } = config
  const caFile = config.smtp_ca_file ?? config.outbound_ca_file
  return {
    ...{ host, port, secure: tls === 'implicit', requireTLS: tls === 'starttls', ignoreTLS: tls === 'none' },
    name: 'warder',
    connectionTimeout: mailTimeoutMs,
    greetingTimeout: mailTimeoutMs,
    socketTimeout: mailTimeoutMs,
    maxResponseSize: maxResponseBytes,
    tls: {
      ...(isIP(host) === 0 && { servername: host }),
      ...loadTrustedAuthorities(caFile && inHome(home, caFile)),
      minVersion: 'TLSv1.2' as const,
      rejectUnauthorized: true,
    },
    ...(user !== undefined &&
      passwordFile !== undefined && {
        auth: { user, pass: readPasswordFile(inHome(home, passwordFile), 'smtp_password_file') },
        // A server that offers no authentication must not get the message without it.
        forceAuth: true,
      }),
  }
}

/** Connects to an address that was checked. A server that the operator names by a loopback address needs no permission. */
async function connectToServer({ config, home }: MailerOptions, signal: AbortSignal): Promise<Socket> {
  const { smtp_host: host = '', smtp_port: port } = config
  const { allowPrivateNetworks, proxy } = readOutboundAccess(config, home)
  const guard = { allowPrivateNetworks: allowPrivateNetworks || isLoopback(host), proxy }
  // A tunnel is a socket, too, or TLS on top of one.
  return (await openConnection(
    await findRoute({ host, port, scheme: 'tls' }, guard, signal),
    signal,
  )) as Socket
}

/** The reply of the server to the failed command, or the reason why there was none. */
function describeMailError(error: unknown, signal: AbortSignal, timeoutMs: number): string {
  if (signal.aborted) return `the mail server did not finish within ${timeoutMs / 1000} s`
  const { response, message } = error as { readonly response?: string; readonly message?: string }
  return printable(response ?? message ?? String(error), maxReplyLength)
}
