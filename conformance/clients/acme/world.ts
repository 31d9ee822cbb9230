import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type DnsHost,
  dnsHost,
  type HttpHost,
  httpHost,
  type TlsHost,
  tlsHost,
} from '@warder/authority/testing'
import { type Installation, startInstallation } from 'warder/testing'

/** Credential with which an ACME client gets its account. */
export interface AcmeCredential {
  readonly directory: string
  readonly kid: string
  readonly hmac_key: string
}

/** A started Warder with an authority that is open for ACME, and the hosts of a client that requests certificates. */
export interface AcmeWorld extends AsyncDisposable {
  readonly warder: Installation
  readonly web: HttpHost
  readonly dns: DnsHost
  readonly tls: TlsHost
  /** Files below `.well-known/acme-challenge` of it are what `web` answers. It goes with the world. */
  readonly folder: string
  credential(): Promise<AcmeCredential>
  /** Status of a certificate that the authority issued: `valid`, `revoked` … */
  stateOf(serial: string): Promise<string>
}

export async function startAcmeWorld(): Promise<AcmeWorld> {
  await using opened = new AsyncDisposableStack()
  const folder = mkdtempSync(join(tmpdir(), 'warder-acme-'))
  opened.defer(() => rmSync(folder, { recursive: true, force: true }))
  const web = opened.use(await httpHost(folder))
  const dns = opened.use(await dnsHost())
  const tls = opened.use(await tlsHost())
  const warder = await startInstallation({
    env: {
      KMS_ACME_ALLOW_PRIVATE_NETWORKS: 'true',
      KMS_ACME_HTTP_PORT: String(web.port),
      KMS_ACME_TLS_PORT: String(tls.port),
      KMS_ACME_DNS_SERVERS: `127.0.0.1:${dns.port}`,
      KMS_WORKERS: '2',
    },
  })
  opened.defer(async () => void (await warder.stop()))
  const client = warder.client('kms')
  opened.defer(() => client.close())
  const headers = { authorization: `Bearer ${await warder.adminToken()}` }
  // biome-ignore lint/suspicious/noExplicitAny: members of whatever was answered
  const ask = async (method: string, url: string, json?: object): Promise<any> => {
    const answer = await client.ask(url, { method, headers, ...(json !== undefined && { json }) })
    assert.ok(answer.status < 300, answer.text)
    return JSON.parse(answer.text)
  }
  const root = await ask('POST', '/v1/pki/authorities', { subject: 'CN=Root', alg: 'ES256' })
  const below = { subject: 'CN=Issuing', alg: 'ES256', issuer: root.id, path_length: 0 }
  const path = `/v1/pki/authorities/${(await ask('POST', '/v1/pki/authorities', below)).id}`
  await ask('PUT', `${path}/acme`, { days: 30 })
  const running = opened.move()
  return {
    warder,
    web,
    dns,
    tls,
    folder,
    credential: () => ask('POST', `${path}/acme/credentials`, {}),
    async stateOf(serial) {
      const issued: readonly { serial: string; state: string }[] = await ask('GET', `${path}/certificates`)
      return issued.find((one) => BigInt(`0x${one.serial}`) === BigInt(`0x${serial}`))?.state ?? 'unknown'
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  }
}
