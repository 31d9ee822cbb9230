import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { StartupError } from '@warder/base'
import type { Server } from '@warder/command-line/https-client'
import { readWhole, send } from '@warder/outbound/http-client'
import type { TestClient } from './partner-files.ts'

/** Output of `az keyvault ekm-connection certificate show`. */
export interface AzureCertificates {
  readonly name: string
  readonly authorities: readonly X509Certificate[]
}

/** @throws StartupError */
export function readAzureCertificates(file: string): AzureCertificates {
  const createFormatError = (what: string) =>
    new StartupError(`${file} is not the output of \`az keyvault ekm-connection certificate show\`: ${what}`)
  let json: unknown
  try {
    json = JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    throw createFormatError(error instanceof Error ? error.message : String(error))
  }
  const { subjectCommonName: name, caCertificates } = { ...(json as object) } as Record<string, unknown>
  if (typeof name !== 'string' || name.trim() !== name || name === '')
    throw createFormatError('subjectCommonName is not a name')
  if (!Array.isArray(caCertificates) || caCertificates.length === 0)
    throw createFormatError('caCertificates is not a list')
  const authorities = caCertificates.map((text) => {
    try {
      return new X509Certificate(Buffer.from(String(text), 'base64'))
    } catch {
      throw createFormatError('a certificate of caCertificates cannot be read')
    }
  })
  return { name, authorities }
}

export interface EkmAnswer {
  readonly status: number
  readonly json: Readonly<Record<string, unknown>>
}

const answerWithinMs = 30_000
const maxAnswerBytes = 1024 * 1024

/** Sends a request to the EKM proxy like Managed HSM, with the certificate of the test client or without one. */
export async function postEkm(
  { url, caFile, serverName }: Server,
  path: string,
  body: object,
  identity: TestClient | undefined,
): Promise<EkmAnswer> {
  const requestOptions = {
    method: 'POST',
    agent: false,
    signal: AbortSignal.timeout(answerWithinMs),
    headers: { 'content-type': 'application/json' },
    ...(caFile !== undefined && { ca: readFileSync(caFile) }),
    ...(serverName !== undefined && { servername: serverName }),
    ...identity,
  } as const
  const target = new URL(`${path}?api-version=0.1-preview`, url)
  const response = await send(target, requestOptions, Buffer.from(JSON.stringify(body)))
  const text = (await readWhole(response, maxAnswerBytes)).toString('utf8')
  return { status: response.statusCode ?? 0, json: parseObject(text) }
}

function parseObject(text: string): Readonly<Record<string, unknown>> {
  try {
    const json: unknown = JSON.parse(text)
    return typeof json === 'object' && json !== null ? { ...json } : {}
  } catch {
    return {}
  }
}
