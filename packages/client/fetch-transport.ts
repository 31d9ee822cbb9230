import type { ClientError } from './error.ts'
import { createTransport, type Exchange } from './exchanges.ts'
import { type Answer, createFailures, parseBase, type Transport, type TransportOptions } from './transport.ts'

/**
 * `fetch`, for browsers and what else has it. Follows no redirects: credentials go to the named service and nowhere else.
 * @param sendCookies whether the browser sends the cookies that it has of the service, and keeps those that it gets
 * @throws TypeError for an address that cannot be used, and for what a browser decides without the page
 */
export function fetchTransport(options: TransportOptions, sendCookies: boolean): Transport {
  const base = parseBase(options.baseUrl)
  for (const name of ['ca', 'serverName', 'certificate'] as const)
    if (options[name] !== undefined)
      throw new TypeError(`the browser trusts and shows certificates by itself: leave ${name} out`)
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
      // Where it leads to is kept from pages.
      if (response.type === 'opaqueredirect')
        throw failure('unexpected_reply', 'answers with a redirect, which is not followed')
      begun = true
      const read = await readWhole(response, options.maxAnswerBytes, (why) =>
        failure('unexpected_reply', why),
      )
      return { status: response.status, headers: Object.fromEntries(response.headers), body: read }
    } catch (error) {
      if (!(error instanceof TypeError)) throw error
      if (begun) throw failure('unreachable', 'broke off its answer', error)
      // A browser tells a page no reason: no answer, a certificate that is not trusted, or an origin that is not allowed.
      throw failure('unreachable', `cannot be reached: ${error.message}`, error)
    }
  }
  return createTransport(exchange, options, failures)
}

/** The whole body, at most so many bytes; leaving the loop early ends the connection. */
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
