import { X509Certificate } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { StartupError } from '@warder/base'
import { writeFileAtomically } from './settings-file.ts'

/** Files in the home for the client certificates of a cloud: the authorities, and the test client. */
interface Partner {
  readonly folder: string
  /** Common name of the certificate of the test client. */
  readonly testClient: string
  /** Common name of its authority. */
  readonly testAuthority: string
}

export const partners = {
  aws: { folder: 'aws-xks', testClient: 'warder-xks-test', testAuthority: 'Warder XKS test authority' },
  azure: { folder: 'azure-ekm', testClient: 'warder-ekm-test', testAuthority: 'Warder EKM test authority' },
} as const satisfies Readonly<Record<string, Partner>>

export type PartnerName = keyof typeof partners

const testDays = 30
const day = 24 * 60 * 60 * 1000

export function partnerFiles(home: string, partner: PartnerName) {
  const folder = join(home, partners[partner].folder)
  return {
    folder,
    authorities: join(folder, 'authorities.pem'),
    certificate: join(folder, 'test-client.crt'),
    key: join(folder, 'test-client.key'),
  }
}

/** Returns the path of the authorities for the settings. */
export function authoritiesSetting(partner: PartnerName): string {
  return `${partners[partner].folder}/authorities.pem`
}

/**
 * Adds authorities to the file in the home, and creates a new short-lived certificate of the test client with its own
 * authority.
 */
export async function writePartnerFiles(
  home: string,
  partner: PartnerName,
  authorities: readonly X509Certificate[],
  now: number,
): Promise<void> {
  const files = partnerFiles(home, partner)
  const { testClient, testAuthority } = partners[partner]
  const plan = {
    hostnames: [],
    addresses: [],
    notBefore: new Date(now - 60 * 60 * 1000),
    notAfter: new Date(now + testDays * day),
  } as const
  const { issueCertificate } = await import('@warder/server')
  const own = await issueCertificate({ ...plan, purpose: 'authority', commonName: testAuthority }, undefined)
  const client = await issueCertificate({ ...plan, purpose: 'client', commonName: testClient }, own)
  mkdirSync(files.folder, { recursive: true, mode: 0o700 })
  const kept = existsSync(files.authorities) ? parseCertificates(readFileSync(files.authorities, 'utf8')) : []
  const all = [...kept.filter(({ subject }) => subject !== `CN=${testAuthority}`), ...authorities]
  const distinct = new Map(all.map((one) => [one.fingerprint256, one.toString()]))
  writeFileAtomically(
    files.authorities,
    [...distinct.values(), own.certificatePem].map((pem) => `${pem.trim()}\n`).join(''),
  )
  writeFileAtomically(files.key, client.keyPem)
  writeFileAtomically(files.certificate, client.certificatePem)
}

export interface TestClient {
  readonly cert: string
  readonly key: string
}

/** @throws StartupError with the command that creates it */
export function readTestClient(home: string, partner: PartnerName, enable: string): TestClient {
  const files = partnerFiles(home, partner)
  if (!existsSync(files.certificate))
    throw new StartupError(
      `${files.certificate} does not exist: create it with \`${enable}\` in the home of the service`,
    )
  return { cert: readFileSync(files.certificate, 'utf8'), key: readFileSync(files.key, 'utf8') }
}

/** Reads the certificates of a PEM file. @throws StartupError when it has none, or an invalid one */
export function readAuthoritiesFile(file: string): readonly X509Certificate[] {
  try {
    const found = parseCertificates(readFileSync(file, 'utf8'))
    if (found.length > 0) return found
  } catch (error) {
    throw new StartupError(
      `${file} cannot be used: ${error instanceof Error ? error.message : String(error)}`,
    )
  }
  throw new StartupError(`${file} contains no certificate in PEM`)
}

function parseCertificates(pem: string): readonly X509Certificate[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? []
  return blocks.map((block) => new X509Certificate(block))
}
