import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'

/** A web server of a certificate applicant: it answers http-01 challenges. */
export interface HttpHost extends AsyncDisposable {
  readonly port: number
  /** By token: the key authorization. */
  readonly answers: Map<string, string>
  /** Paths that were asked for. */
  readonly asked: string[]
  /** Address to which every request is redirected. */
  redirect: string | undefined
}

/** @param folder where a client that writes files puts its answers (`--webroot` of certbot) */
export async function httpHost(folder?: string): Promise<HttpHost> {
  const answers = new Map<string, string>()
  const asked: string[] = []
  const host = { redirect: undefined as string | undefined }
  const server = createServer((request, response) => {
    asked.push(request.url ?? '')
    if (host.redirect !== undefined) {
      response.writeHead(302, { location: host.redirect }).end()
      return
    }
    const token = /^\/\.well-known\/acme-challenge\/([A-Za-z0-9_-]+)$/.exec(request.url ?? '')?.[1]
    const answer = token === undefined ? undefined : (answers.get(token) ?? inFile(folder, token))
    if (answer === undefined) response.writeHead(404).end()
    else response.end(`${answer}\n`)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return Object.assign(host, {
    port: (server.address() as AddressInfo).port,
    answers,
    asked,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  })
}

function inFile(folder: string | undefined, token: string): string | undefined {
  if (folder === undefined) return undefined
  const file = join(folder, '.well-known', 'acme-challenge', token)
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined
}
