import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Chromium, where Debian and most distributions install it. */
export const chromium = ['/usr/bin/chromium', '/usr/bin/chromium-browser'].find((path) => existsSync(path))

type Parameters = Readonly<Record<string, unknown>>
interface Message {
  readonly id?: number
  readonly method?: string
  readonly params?: Parameters
  readonly result?: unknown
  readonly error?: { readonly message: string }
}

/** Replies that are read, by method of the protocol. */
interface Replies {
  'Target.createTarget': { readonly targetId: string }
  'Target.attachToTarget': { readonly sessionId: string }
  'Runtime.evaluate': { readonly result: { readonly value?: unknown }; readonly exceptionDetails?: object }
}
type Reply<M extends string> = M extends keyof Replies ? Replies[M] : unknown

/** One page of a browser, driven by the Chrome DevTools Protocol. */
export interface Page extends AsyncDisposable {
  send<M extends string>(method: M, params?: Parameters): Promise<Reply<M>>
  /** Runs an expression in the page and returns its value, which must be JSON. */
  evaluate(expression: string): Promise<unknown>
  /** Shows a document of this text at an address, which the browser does not request. */
  show(address: string, html: string): Promise<void>
}

/**
 * Starts the browser with a new profile.
 * @param trusted base64 of the SHA-256 of the SubjectPublicKeyInfo of a certificate that it accepts
 */
export async function openPage(trusted: string): Promise<Page> {
  const profile = mkdtempSync(join(tmpdir(), 'warder-chromium-'))
  const options = [
    '--headless=new',
    '--no-sandbox',
    '--disable-gpu',
    '--disable-dev-shm-usage',
    '--no-first-run',
  ]
  const child = spawn(chromium ?? '', [
    ...options,
    '--remote-debugging-port=0',
    `--user-data-dir=${profile}`,
    `--ignore-certificate-errors-spki-list=${trusted}`,
    'about:blank',
  ])
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const address = await new Promise<string>((resolve, reject) => {
    let text = ''
    child.once('error', reject)
    child.once('exit', () => reject(new Error(`chromium ended: ${text}`)))
    child.stderr.on('data', (chunk: Buffer) => {
      text += chunk.toString()
      const found = /DevTools listening on (ws:\S+)/.exec(text)?.[1]
      if (found !== undefined) resolve(found)
    })
  })
  const socket = new WebSocket(address)
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve)
    socket.addEventListener('error', reject)
  })
  const waiting = new Map<number, (message: Message) => void>()
  const listeners = new Map<string, (params: Parameters) => void>()
  socket.addEventListener('message', ({ data }) => {
    const message = JSON.parse(String(data)) as Message
    if (message.id !== undefined) waiting.get(message.id)?.(message)
    else listeners.get(message.method ?? '')?.(message.params ?? {})
  })
  let last = 0
  const request = async <M extends string>(method: M, params: Parameters = {}, sessionId?: string) => {
    const id = ++last
    const reply = new Promise<Message>((resolve) => waiting.set(id, resolve))
    socket.send(JSON.stringify({ id, method, params, ...(sessionId !== undefined && { sessionId }) }))
    const { result, error } = await reply
    if (error !== undefined) throw new Error(`${method}: ${error.message}`)
    return result as Reply<M>
  }
  const { targetId } = await request('Target.createTarget', { url: 'about:blank' })
  const { sessionId } = await request('Target.attachToTarget', { targetId, flatten: true })
  const send: Page['send'] = (method, params) => request(method, params, sessionId)
  return {
    send,
    async evaluate(expression) {
      const options = { awaitPromise: true, returnByValue: true }
      const { result, exceptionDetails } = await send('Runtime.evaluate', { expression, ...options })
      if (exceptionDetails !== undefined) throw new Error(JSON.stringify(exceptionDetails))
      return result.value
    },
    async show(url, html) {
      await send('Page.enable')
      await send('Fetch.enable', { patterns: [{ urlPattern: url }] })
      const loaded = new Promise<void>((resolve) => listeners.set('Page.loadEventFired', () => resolve()))
      listeners.set('Fetch.requestPaused', ({ requestId }) => {
        const responseHeaders = [{ name: 'Content-Type', value: 'text/html' }]
        const body = Buffer.from(html).toString('base64')
        void send('Fetch.fulfillRequest', { requestId, responseCode: 200, responseHeaders, body })
      })
      await send('Page.navigate', { url })
      await loaded
      await send('Fetch.disable')
    },
    async [Symbol.asyncDispose]() {
      socket.close()
      child.kill()
      await ended
      rmSync(profile, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}
