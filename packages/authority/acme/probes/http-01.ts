import { isIP } from 'node:net'
import { createProblem, type Problem } from '../protocol/problem.ts'
import type { Proof, Ways } from './proof.ts'

/** RFC 8555 §8.3: the key authorization is a resource of the host. @throws OutboundError */
export async function checkHttp(
  { identifier, token, keyAuthorization }: Proof,
  { http, httpPort }: Ways,
): Promise<Problem | undefined> {
  const { value } = identifier
  const host = isIP(value) === 6 ? `[${value}]` : value
  const port = httpPort === 80 ? '' : `:${httpPort}`
  const { status, body } = await http.get(`http://${host}${port}/.well-known/acme-challenge/${token}`)
  if (status !== 200) return createProblem('incorrectResponse', `${host} answered with status ${status}.`)
  return Buffer.from(body).toString('latin1').trimEnd() === keyAuthorization
    ? undefined
    : createProblem('incorrectResponse', `${host} answered with something else than the key authorization.`)
}
