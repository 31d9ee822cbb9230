import { X509Certificate } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { StartupError } from '@warder/foundation/errors'
import { readWhole, send } from '@warder/foundation/http-client'
import { issueCertificate } from '@warder/foundation/tls'
import type { Server } from '../client/index.ts'
import { writeWhole } from './settings-file.ts'

/** Common Name of the certificate that `warder external azure test` presents. */
export const testClientName = 'warder-ekm-test'
const testDays = 30
const day = 24 * 60 * 60 * 1000

/** Files of the EKM proxy in a home. */
export function azureFiles(home: string) {
  const folder = join(home, 'azure-ekm')
  return {
    folder,
    authorities: join(folder, 'authorities.pem'),
    certificate: join(folder, 'test-client.crt'),
    key: join(folder, 'test-client.key'),
  }
}

/** What `az keyvault ekm-connection certificate show` prints. */
export interface AzureCertificates {
  readonly name: string
  readonly authorities: readonly X509Certificate[]
}

/** @throws StartupError */
export function readAzureCertificates(file: string): AzureCertificates {
  const wrong = (what: string) =>
    new StartupError(`${file} is not what \`az keyvault ekm-connection certificate show\` prints: ${what}`)
  let json: unknown
  try {
    json = JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    throw wrong(error instanceof Error ? error.message : String(error))
  }
  const { subjectCommonName: name, caCertificates } = { ...(json as object) } as Record<string, unknown>
  if (typeof name !== 'string' || name.trim() !== name || name === '')
    throw wrong('subjectCommonName is no name')
  if (!Array.isArray(caCertificates) || caCertificates.length === 0) throw wrong('caCertificates is no list')
  const authorities = caCertificates.map((text) => {
    try {
      return new X509Certificate(Buffer.from(String(text), 'base64'))
    } catch {
      throw wrong('a certificate of caCertificates cannot be read')
    }
  })
  return { name, authorities }
}

/**
 * Adds authorities to the file of the home, and an authority of its own for the test client, whose certificate is made
 * anew: it runs out by itself.
 */
export async function writeAzureFiles(
  home: string,
  authorities: readonly X509Certificate[],
  now: number,
): Promise<void> {
  const files = azureFiles(home)
  const plan = {
    hostnames: [],
    addresses: [],
    notBefore: new Date(now - 60 * 60 * 1000),
    notAfter: new Date(now + testDays * day),
  } as const
  const own = await issueCertificate({ ...plan, purpose: 'authority', commonName: testAuthority }, undefined)
  const client = await issueCertificate({ ...plan, purpose: 'client', commonName: testClientName }, own)
  mkdirSync(files.folder, { recursive: true, mode: 0o700 })
  const kept = existsSync(files.authorities) ? certificatesIn(readFileSync(files.authorities, 'utf8')) : []
  const all = [...kept.filter(({ subject }) => subject !== `CN=${testAuthority}`), ...authorities]
  const distinct = new Map(all.map((one) => [one.fingerprint256, one.toString()]))
  writeWhole(
    files.authorities,
    [...distinct.values(), own.certificatePem].map((pem) => `${pem.trim()}\n`).join(''),
  )
  writeWhole(files.key, client.keyPem)
  writeWhole(files.certificate, client.certificatePem)
}

const testAuthority = 'Warder EKM test authority'

function certificatesIn(pem: string): readonly X509Certificate[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? []
  return blocks.map((block) => new X509Certificate(block))
}

export interface EkmAnswer {
  readonly status: number
  readonly json: Readonly<Record<string, unknown>>
}

const answerWithinMs = 30_000
const mostBytes = 1024 * 1024

/** Posts to the EKM proxy as Managed HSM does, with the certificate of the test client or without one. */
export async function postEkm(
  { url, caFile, serverName }: Server,
  path: string,
  body: object,
  identity: { readonly cert: string; readonly key: string } | undefined,
): Promise<EkmAnswer> {
  const asked = {
    method: 'POST',
    agent: false,
    signal: AbortSignal.timeout(answerWithinMs),
    headers: { 'content-type': 'application/json' },
    ...(caFile !== undefined && { ca: readFileSync(caFile) }),
    ...(serverName !== undefined && { servername: serverName }),
    ...identity,
  } as const
  const target = new URL(`${path}?api-version=0.1-preview`, url)
  const response = await send(target, asked, Buffer.from(JSON.stringify(body)))
  const text = (await readWhole(response, mostBytes)).toString('utf8')
  return { status: response.statusCode ?? 0, json: objectIn(text) }
}

function objectIn(text: string): Readonly<Record<string, unknown>> {
  try {
    const json: unknown = JSON.parse(text)
    return typeof json === 'object' && json !== null ? { ...json } : {}
  } catch {
    return {}
  }
}
