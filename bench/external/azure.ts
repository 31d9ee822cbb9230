import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { HttpsClient } from '@warder/command-line/https-client'
import { issueCertificate } from '@warder/server'
import type { IssuedCertificate } from '@warder/server/testing'
import type { Installation } from 'warder/testing'
import { openConnection, readReply, requestBytes } from '../load/connection.ts'
import type { Scenario } from '../scenarios.ts'
import { createAdministrator } from './administrator.ts'

const pool = 'contoso.managedhsmclient.azure.net'
const dayMs = 86_400_000

/** A pool of Managed HSM with its client certificate. */
export interface AzurePool {
  /** Settings of a service that lets it in. */
  readonly env: Readonly<Record<string, string>>
  readonly client: IssuedCertificate
}

/** @param home folder for the authority of the pool */
export async function azurePool(home: string): Promise<AzurePool> {
  const dates = { notBefore: new Date(Date.now() - dayMs), notAfter: new Date(Date.now() + dayMs) }
  const plan = { ...dates, hostnames: [], addresses: [] }
  const authority = await issueCertificate({ ...plan, purpose: 'authority', commonName: 'Azure' }, undefined)
  const client = await issueCertificate({ ...plan, purpose: 'client', commonName: pool }, authority)
  writeFileSync(join(home, 'azure.pem'), authority.certificatePem)
  const env = {
    KMS_AZURE_EKM_ENABLE: 'true',
    KMS_AZURE_EKM_CA_CERT_FILE: 'azure.pem',
    KMS_AZURE_EKM_CLIENT_NAMES: pool,
  }
  return { env, client }
}

/** Keys that Managed HSM has wrapped and unwrapped, over connections with its client certificate. */
export async function azureScenarios(
  warder: Installation,
  kms: HttpsClient,
  echoUrl: string,
  { client }: AzurePool,
): Promise<readonly Scenario[]> {
  const administrator = await createAdministrator(warder, kms)
  const identity = { cert: client.certificatePem, key: client.keyPem }
  const value = randomBytes(32).toString('base64url')
  const context = {
    request_id: '6476b291-7c15-4d0b-aef9-03688390cb8e',
    correlation_id: 'aa9a3cb4-82b4-11f0-afc6-5ffd3bdade85',
    pool_name: 'mhsm-pool-name',
  }
  const scenario = (
    name: string,
    path: string,
    [alg, sent]: readonly [string, string],
    includes: string,
    primitive?: string,
  ): Scenario => {
    const body = JSON.stringify({ request_context: context, alg, value: sent })
    const common = { method: 'POST', headers: {}, body, identity } as const
    return {
      ...common,
      name,
      server: 'kms',
      url: `${warder.kmsUrl}${path}?api-version=0.1-preview`,
      expect: { status: 200, includes },
      halfLoad: true,
      ...(primitive !== undefined && { primitive }),
      limit: {
        ...common,
        name: 'echo of the same',
        server: 'echo',
        url: `${echoUrl}/`,
        expect: { status: 200, includes: 'request_context' },
      },
    }
  }
  const rights = ['encrypt', 'decrypt']
  const aes = await administrator.grantedKey({ kty: 'oct', alg: 'A256KW' }, `azure:${pool}`, rights)
  const rsa = await administrator.grantedKey(
    { kty: 'RSA', bits: 2048, alg: 'RSA-OAEP-256' },
    `azure:${pool}`,
    rights,
  )
  const ca = readFileSync(warder.caFile, 'utf8')
  const { port, hostname: host } = new URL(warder.kmsUrl)
  const wrapKey = async (kid: string, alg: string): Promise<string> => {
    const path = `/azureekm/${kid}/wrapkey?api-version=0.1-preview`
    const body = JSON.stringify({ request_context: context, alg, value })
    const connection = await openConnection({ host, port: Number(port), ca, identity }, readReply)
    try {
      const reply = await connection.exchange(requestBytes('POST', path, `localhost:${port}`, {}, body))
      if (reply.status !== 200) throw new Error(`wrapkey answered ${reply.status}: ${reply.body}`)
      return (JSON.parse(reply.body.toString()) as { readonly value: string }).value
    } finally {
      connection.close()
    }
  }
  const [inAes, inRsa] = [await wrapKey(aes, 'A256KW'), await wrapKey(rsa, 'RSA-OAEP-256')]
  const bare = 'RSA-OAEP-256 (2048) decrypt'
  return [
    scenario('EKM wrap key, A256KW', `/azureekm/${aes}/wrapkey`, ['A256KW', value], inAes),
    scenario('EKM unwrap key, A256KW', `/azureekm/${aes}/unwrapkey`, ['A256KW', inAes], value),
    scenario(
      'EKM wrap key, RSA-OAEP-256 (2048)',
      `/azureekm/${rsa}/wrapkey`,
      ['RSA-OAEP-256', value],
      '"value"',
    ),
    scenario(
      'EKM unwrap key, RSA-OAEP-256 (2048)',
      `/azureekm/${rsa}/unwrapkey`,
      ['RSA-OAEP-256', inRsa],
      value,
      bare,
    ),
  ]
}
