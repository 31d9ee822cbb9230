import { type IncomingMessage, request as plainRequest } from 'node:http'
import { type RequestOptions, request as secureRequest } from 'node:https'
import { activeTrace } from './active-trace.ts'

/**
 * Sends one request, and once more where that is safe: RFC 9110 §9.2.2, the peer may have ended a kept connection
 * while a GET was on its way. Redirects are not followed. A call within a traced request continues its trace.
 * @param url https; http only for data that is verified otherwise
 * @param options its `signal` ends the whole exchange, the reading of the body too
 * @returns the head of the answer
 * @throws whatever the connection fails with before the answer begins
 */
export function send(url: URL, options: RequestOptions, body?: Uint8Array): Promise<IncomingMessage> {
  const request = url.protocol === 'http:' ? plainRequest : secureRequest
  const length = body === undefined ? {} : { 'content-length': body.length }
  const call = activeTrace.getStore()?.call(options.method ?? 'GET', url)
  return new Promise((resolve, reject) => {
    const outgoing = request(url, {
      ...options,
      headers: { ...options.headers, ...length, ...call?.headers },
    })
    let begun = false
    outgoing.once('response', (incoming) => {
      begun = true
      call?.end(incoming.statusCode ?? 0)
      resolve(incoming)
    })
    outgoing.on('error', (error) => {
      if (!begun) call?.end(error)
      const again = outgoing.method === 'GET' && outgoing.reusedSocket && options.signal?.aborted !== true
      if (again && !begun) send(url, options, body).then(resolve, reject)
      else reject(error)
    })
    outgoing.end(body)
  })
}
