import { randomUUID } from 'node:crypto'
import { openClient } from '@warder/command-line/https-client'
import type { KmsContext } from '@warder/command-line/kms'
import { signAwsRequest } from '@warder/outbound/sigv4'
import { postEkm } from './azure-client.ts'
import { partners, readTestClient } from './partner-files.ts'
import { cleanUp, fetchStoreState, requireServing, type Step, type StoreState, showSteps } from './store.ts'

interface HealthAnswer {
  readonly status: number
  readonly json: unknown
}

/**
 * Sends the health request of AWS KMS (`GetHealthStatus`), signed by a temporary access key.
 * @param prefix path before `/kms/xks/v1`
 */
export async function testAws(context: KmsContext, prefix: string, region: string): Promise<number> {
  const state = await fetchStoreState(context, 'aws')
  requireServing(state)
  const { kms, endpoints: places } = context
  const certificate = requiresClientCertificate(state)
    ? readTestClient(places.home, 'aws', 'warder external aws enable --client-ca FILE')
    : undefined
  const { id, secret } = await kms.call('external.aws.keys.create', {
    body: { region, uri_prefix: prefix },
  })
  const http = openClient(places.kms, certificate)
  try {
    const path = `${prefix}/kms/xks/v1/health`
    const body = { requestMetadata: { kmsOperation: 'KmsHealthCheck', kmsRequestId: randomUUID() } }
    const { host } = new URL(places.kms.url)
    const headers = signXksRequest({ id, secret, region }, host, path, JSON.stringify(body))
    const answer = await http.ask(path, { json: body, headers })
    return showSteps(context, 'aws', [checkHealth(context, path, answer)])
  } finally {
    http.close()
    await cleanUp(
      context,
      () => kms.call('external.aws.keys.delete', { path: { id } }),
      `the access key ${id} of the test`,
    )
  }
}

/** Access key of AWS KMS at the XKS proxy. */
export interface XksCredential {
  readonly id: string
  readonly secret: string
  readonly region: string
}

/** Signs a POST request as AWS KMS does. @param host value of the header Host @returns its headers */
export function signXksRequest(
  { region, ...key }: XksCredential,
  host: string,
  path: string,
  body: string,
): Readonly<Record<string, string>> {
  const headers = { 'content-type': 'application/json' }
  const scope = { region, service: 'kms-xks-proxy' }
  return signAwsRequest({ host, path, headers, body: Buffer.from(body) }, key, scope, Date.now())
}

/** Whether AWS KMS needs a client certificate beside its signature. */
export function requiresClientCertificate({ client_names }: StoreState): boolean {
  return Array.isArray(client_names) && client_names.length > 0
}

/** Sends the request `info` of Managed HSM, with the certificate of the test client. */
export async function testAzure(context: KmsContext, prefix: string): Promise<number> {
  requireServing(await fetchStoreState(context, 'azure'))
  const { endpoints: places } = context
  const identity = readTestClient(places.home, 'azure', 'warder external azure enable')
  const path = `${getAzurePath(prefix)}/info`
  const answer = await postEkm(places.kms, path, { request_context: createAzureContext() }, identity)
  return showSteps(context, 'azure', [checkHealth(context, path, answer)])
}

export function getAzurePath(prefix: string): string {
  return prefix === '' ? '/azureekm' : `/azureekm/${prefix}`
}

/** The member `request_context` of a request of the test client. */
export function createAzureContext() {
  const pool_name = partners.azure.testClient
  return { request_id: randomUUID(), correlation_id: randomUUID(), pool_name }
}

/** Sends the request `status` of Google's clients. */
export async function testGoogle(context: KmsContext): Promise<number> {
  requireServing(await fetchStoreState(context, 'google'))
  return getEach(context, 'google', ['/google_cse/status'])
}

/** Requests each public key, as Office does before it protects a document; Microsoft has no health request. */
export async function testMicrosoft(context: KmsContext): Promise<number> {
  const state = await fetchStoreState(context, 'microsoft')
  requireServing(state)
  return getEach(
    context,
    'microsoft',
    listKeyNames(state).map((name) => `/ms_dke/${name}`),
  )
}

/** Names of the keys of Double Key Encryption. */
export function listKeyNames({ keys }: StoreState): readonly string[] {
  return typeof keys === 'object' && keys !== null ? Object.keys(keys) : []
}

async function getEach(
  context: KmsContext,
  name: 'google' | 'microsoft',
  paths: readonly string[],
): Promise<number> {
  const http = openClient(context.endpoints.kms)
  try {
    const steps: Step[] = []
    for (const path of paths) steps.push(checkHealth(context, path, await http.ask(path)))
    return showSteps(context, name, steps)
  } finally {
    http.close()
  }
}

function checkHealth({ endpoints }: KmsContext, path: string, { status, json }: HealthAnswer): Step {
  const { message, description, errorMessage } = { ...(json as object) } as Record<string, unknown>
  const reason = String(message ?? description ?? errorMessage ?? '')
  const what = new URL(path, endpoints.kms.url).href
  return { what, problem: status === 200 ? undefined : `${status} ${reason}`.trim() }
}
