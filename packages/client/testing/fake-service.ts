import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { issueCertificate } from '@warder/server'

/** A request that the service received. */
export interface Received {
  readonly method: string
  /** Path with query, as it was sent. */
  readonly target: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
  /** Common Name of the client certificate, if one came. */
  readonly certificate: string | undefined
}

export type Answer = (response: ServerResponse, received: Received) => void

/** An HTTPS server that gives the answers of the test in order, and repeats the last one. */
export interface FakeService extends AsyncDisposable {
  readonly url: string
  readonly ca: string
  readonly client: { readonly cert: string; readonly key: string }
  readonly received: Received[]
  readonly connections: () => number
  answer(...answers: Answer[]): void
}

/** Replies with this status and JSON. */
export function json(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Answer {
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(body === undefined ? undefined : JSON.stringify(body))
  }
}

export async function fakeService(): Promise<FakeService> {
  const times = { notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + 3_600_000) }
  const plan = { hostnames: [], addresses: [], ...times }
  const authority = await issueCertificate(
    { ...plan, commonName: 'Test CA', purpose: 'authority' },
    undefined,
  )
  const leaf = await issueCertificate(
    { ...plan, commonName: 'kms', purpose: 'server', addresses: ['127.0.0.1'] },
    authority,
  )
  const client = await issueCertificate({ ...plan, commonName: 'carol', purpose: 'client' }, authority)
  const received: Received[] = []
  let answers: Answer[] = [json(200, {})]
  let connections = 0
  const server = createServer(
    {
      cert: leaf.certificatePem,
      key: leaf.keyPem,
      ca: authority.certificatePem,
      requestCert: true,
      rejectUnauthorized: false,
    },
    (request, response) => {
      let body = ''
      request.on('data', (part) => {
        body += part
      })
      request.on('end', () => {
        const subject = (request.socket as TLSSocket).getPeerCertificate().subject
        const call = {
          method: request.method ?? '',
          target: request.url ?? '',
          headers: request.headers,
          body,
          certificate: subject === undefined ? undefined : String(subject.CN),
        }
        received.push(call)
        const answer = answers.length > 1 ? answers.shift() : answers[0]
        answer?.(response, call)
      })
    },
  )
  server.on('secureConnection', () => {
    connections += 1
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ca: authority.certificatePem,
    client: { cert: client.certificatePem, key: client.keyPem },
    received,
    connections: () => connections,
    answer(...next) {
      answers = next
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
