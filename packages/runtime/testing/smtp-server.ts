import { createServer, type Server, type Socket } from 'node:net'
import { createSecureContext, TLSSocket } from 'node:tls'

/** A message as the server received it. */
export interface ReceivedMail {
  readonly from: string
  readonly to: readonly string[]
  /** With CRLF, without the dots of RFC 5321 §4.5.2. */
  readonly data: string
  readonly isEncrypted: boolean
  /** User and password of AUTH PLAIN. */
  readonly login: readonly string[] | undefined
}

/** How the server behaves in one connection. */
export type SmtpBehaviour =
  | 'takes'
  /** Never greets. */
  | 'hangs'
  /** 550 to each recipient, with control characters and another line. */
  | 'refuses'
  /** 451 after the message. */
  | 'is busy'
  /** Ends the connection after the message, without a reply. */
  | 'hangs up'
  /** A greeting without an end. */
  | 'floods'
  | 'offers no TLS'
  /** Appends a reply to that of STARTTLS, in clear. */
  | 'injects'

export interface SmtpServerOptions {
  readonly cert: string | Buffer
  readonly key: string | Buffer
  readonly tls: 'implicit' | 'starttls' | 'none'
  /** Behaviour of the first connections; later ones take everything. */
  readonly script?: SmtpBehaviour[]
  /** Called before the reply to a message. */
  onMail?(): Promise<void>
}

/** A mail server on a free port of 127.0.0.1 that speaks SMTP (RFC 5321, RFC 3207, RFC 4954). */
export async function startSmtpServer(options: SmtpServerOptions) {
  const mails: ReceivedMail[] = []
  const sockets = new Set<Socket>()
  let connections = 0
  const server: Server = createServer((socket) => {
    connections += 1
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.once('close', () => sockets.delete(socket))
    const behaviour = options.script?.shift() ?? 'takes'
    serve(options.tls === 'implicit' ? encrypt(socket, options) : socket, options, behaviour, mails)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return {
    port: address.port,
    mails,
    connections: () => connections,
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}

function encrypt(socket: Socket, { cert, key }: SmtpServerOptions): TLSSocket {
  const secure = new TLSSocket(socket, { isServer: true, secureContext: createSecureContext({ cert, key }) })
  secure.on('error', () => undefined)
  return secure
}

/** The state of one connection; STARTTLS begins a new one. */
function serve(
  socket: Socket,
  options: SmtpServerOptions,
  behaviour: SmtpBehaviour,
  mails: ReceivedMail[],
  isGreeted = false,
): void {
  const isEncrypted = socket instanceof TLSSocket
  let [from, to, login, text] = ['', [] as string[], undefined as string[] | undefined, '']
  let isData = false
  const reply = (line: string): void => void socket.write(`${line}\r\n`)

  const finish = async (data: string): Promise<void> => {
    mails.push({ from, to, data: data.replaceAll(/^\.\./gm, '.'), isEncrypted, login })
    await options.onMail?.()
    if (behaviour === 'hangs up') socket.destroy()
    else reply(behaviour === 'is busy' ? '451 4.3.0 try again later' : '250 2.0.0 queued as 7F3A')
  }
  const command = (line: string): void => {
    const [verb = '', rest = ''] = [line.slice(0, 4).toUpperCase(), line.slice(5)]
    if (verb === 'EHLO') {
      const offersTls = options.tls === 'starttls' && !isEncrypted && behaviour !== 'offers no TLS'
      reply(`250-mail.test\r\n${offersTls ? '250-STARTTLS\r\n' : ''}250-AUTH PLAIN\r\n250 8BITMIME`)
    } else if (line.toUpperCase() === 'STARTTLS' && behaviour === 'offers no TLS') {
      reply('502 5.5.1 unknown command')
    } else if (line.toUpperCase() === 'STARTTLS') {
      socket.removeAllListeners('data')
      socket.write(`220 go ahead\r\n${behaviour === 'injects' ? '250 AUTH PLAIN\r\n' : ''}`, () =>
        serve(encrypt(socket, options), options, behaviour, mails, true),
      )
    } else if (verb === 'AUTH') {
      login = Buffer.from(rest.replace('PLAIN ', ''), 'base64').toString().split('\0').slice(1)
      reply(login[1] === 'wrong' ? '535 5.7.8 authentication failed' : '235 2.7.0 welcome')
    } else if (verb === 'MAIL') {
      from = line
      reply('250 ok')
    } else if (verb === 'RCPT') {
      to = [...to, line]
      reply(behaviour === 'refuses' ? '550-5.1.1 no such\x1b[31m user\r\n550 5.1.1 really' : '250 ok')
    } else if (verb === 'DATA') {
      isData = true
      reply('354 end with a dot')
    } else if (verb === 'QUIT') {
      reply('221 bye')
      socket.end()
    } else reply('250 ok')
  }
  socket.on('data', (part: Buffer) => {
    text += part.toString()
    for (;;) {
      const end = text.indexOf(isData ? '\r\n.\r\n' : '\r\n')
      if (end < 0) return
      const piece = text.slice(0, end)
      text = text.slice(end + (isData ? 5 : 2))
      if (!isData) command(piece)
      else {
        isData = false
        void finish(piece)
      }
    }
  })
  if (isGreeted || behaviour === 'hangs') return
  if (behaviour !== 'floods') {
    reply('220 mail.test ESMTP')
    return
  }
  const flood = (): void => {
    while (!socket.destroyed && socket.write(`220-${'x'.repeat(65_536)}`));
    if (!socket.destroyed) socket.once('drain', flood)
  }
  flood()
}
