import type { ClientError } from './error.ts'
import { createTransport, type Exchange } from './exchanges.ts'
import { type Answer, createFailures, parseBase, type Transport, type TransportOptions } from './transport.ts'

/**
 * Transport over `fetch`, for browsers and other runtimes that have it. Follows no redirects: credentials are sent
 * only to the named service.
 * @param sendCookies whether the browser sends and stores cookies of the service
 * @throws TypeError for an invalid address, and for options that a browser decides by itself
 */
export function fetchTransport(options: TransportOptions, sendCookies: boolean): Transport {
  const base = parseBase(options.baseUrl)
  for (const name of ['ca', 'serverName', 'certificate'] as const)
    if (options[name] !== undefined)
      throw new TypeError(`the browser manages certificates by itself: omit ${name}`)
  const failures = createFailures(base.origin)
  const { failure } = failures

  const exchange: Exchange = async (signal, method, target, headers, body) => {
    let begun = false
    try {
      const response = await fetch(`${base.origin}${base.prefix}${target}`, {
        method,
        headers,
        body: (body as Uint8Array<ArrayBuffer> | undefined) ?? null,
        signal,
        credentials: sendCookies ? 'include' : 'omit',
        redirect: 'manual',
        cache: 'no-store',
        referrerPolicy: 'no-referrer',
      })
      // Browsers hide the target of a redirect from pages.
      if (response.type === 'opaqueredirect')
        throw failure('unexpected_reply', 'responds with a redirect, which is not followed')
      begun = true
      const read = await readWhole(response, options.maxAnswerBytes, (why) =>
        failure('unexpected_reply', why),
      )
      return { status: response.status, headers: Object.fromEntries(response.headers), body: read }
    } catch (error) {
      if (!(error instanceof TypeError)) throw error
      if (begun) throw failure('unreachable', 'aborted its response', error)
      // A browser does not disclose the reason to a page: no answer, an untrusted certificate, or an origin
      // that is not allowed.
      throw failure('unreachable', `cannot be reached: ${error.message}`, error)
    }
  }
  return createTransport(exchange, options, failures)
}

/** Reads the whole body up to a limit. Leaving the loop early closes the connection. */
async function readWhole(
  { body }: Response,
  maxBytes: number,
  refusal: (why: string) => ClientError,
): Promise<Answer['body']> {
  if (body === null) return new Uint8Array()
  const reader = body.getReader()
  const parts: Uint8Array[] = []
  let size = 0
  for (;;) {
    const { done, value } = await reader.read()
    if (done) break
    size += value.length
    if (size > maxBytes) {
      await reader.cancel()
      throw refusal(`sent more than ${maxBytes} bytes`)
    }
    parts.push(value)
  }
  const whole = new Uint8Array(size)
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}
