import { type KeyObject, sign } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { publicJwk } from '@warder/server'
import type { TestAuthority } from './start.ts'

/** A key set server like those of identity providers and orchestrators, on a free port. */
export interface TestIssuer extends AsyncDisposable {
  /** `https://localhost:port` */
  readonly url: string
  /** PEM file of its CA, for the outbound requests of the service. */
  readonly caFile: string
  /** Sets the answer to the next requests for a path. */
  serve(path: string, answer: TestAnswer): void
  readonly requests: string[]
}

interface TestAnswer {
  readonly status?: number
  readonly body: string
  readonly location?: string
  /** Sends the head and the first byte of the body, but never the rest. */
  readonly stalls?: boolean
}

export async function startIssuer(authority: TestAuthority, folder: string): Promise<TestIssuer> {
  const { cert, key } = await authority.issue('localhost', 'server')
  const answers = new Map<string, TestAnswer>()
  const requests: string[] = []
  const server: Server = createServer({ cert, key }, (request, response) => {
    requests.push(request.url ?? '')
    const answer: TestAnswer = answers.get(request.url ?? '') ?? { status: 404, body: '' }
    const headers = answer.location === undefined ? {} : { location: answer.location }
    response.writeHead(answer.status ?? 200, { 'content-type': 'application/json', ...headers })
    if (answer.stalls === true) response.write(answer.body.slice(0, 1))
    else response.end(answer.body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const caFile = join(folder, 'issuer-ca.pem')
  writeFileSync(caFile, authority.certificatePem)
  return {
    url: `https://localhost:${(server.address() as AddressInfo).port}`,
    caFile,
    requests,
    serve: (path, answer) => void answers.set(path, answer),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** A key set document of public keys. */
export function formatKeySet(...keys: readonly { readonly key: KeyObject; readonly kid: string }[]): string {
  return JSON.stringify({ keys: keys.map(({ key, kid }) => ({ ...publicJwk(key), kid })) })
}

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')

/** Signs a compact JWT with the given header and claims. */
export function signToken(
  key: KeyObject,
  header: Readonly<Record<string, unknown>> & { readonly alg: string },
  claims: Readonly<Record<string, unknown>>,
): string {
  const input = `${encode({ typ: 'JWT', ...header })}.${encode(claims)}`
  const options = header.alg.startsWith('ES')
    ? ({ key, dsaEncoding: 'ieee-p1363' } as const)
    : ({ key } as const)
  const signature = sign(`sha${header.alg.slice(2)}`, Buffer.from(input), options)
  return `${input}.${signature.toString('base64url')}`
}
