import { createHash, randomBytes } from 'node:crypto'
import { type HttpsClient, openClient } from '@warder/command-line/https-client'
import type { KmsContext } from '@warder/command-line/kms'
import {
  cleanUp,
  fetchStoreState,
  formatGrantee,
  grantKey,
  readTestClient,
  requireServing,
  requiresClientCertificate,
  type Step,
  showSteps,
  signXksRequest,
  type XksCredential,
} from 'warder/testing'

const principal = 'arn:aws:iam::000000000000:role/warder-external-test'

/** A client that sends requests like AWS KMS. */
interface ProxyClient {
  /** @returns status and body */
  ask(
    rest: string,
    body: object,
    credential?: XksCredential,
  ): Promise<{ readonly status: number; readonly json: Readonly<Record<string, unknown>> }>
}

/**
 * Tests the complete exchange of AWS KMS, with a temporary access key and key.
 * @param prefix path before `/kms/xks/v1`
 */
export async function testAws(context: KmsContext, prefix: string, region: string): Promise<number> {
  const state = await fetchStoreState(context, 'aws')
  requireServing(state)
  const { kms, endpoints: places } = context
  const certified = requiresClientCertificate(state)
  const certificate = certified
    ? readTestClient(places.home, 'aws', 'warder external aws enable --client-ca FILE')
    : undefined
  const { id, secret } = await kms.call('external.aws.keys.create', {
    body: { region, uri_prefix: prefix },
  })
  const http = openClient(places.kms, certificate)
  const uncertified = certified ? openClient(places.kms) : undefined
  try {
    const { kid } = await kms.call('crypto.keys.create', {
      body: { kty: 'oct', alg: 'A256GCM', tags: ['warder-external-test'] },
    })
    try {
      const credential = { id, secret, region }
      const createClient = (client: HttpsClient) =>
        createProxyClient(client, places.kms.url, prefix, credential)
      const done = await runSteps(context, createClient(http), kid, {
        credential,
        grantee: formatGrantee(prefix, principal),
      })
      const refused = uncertified && (await testWithoutCertificate(createClient(uncertified)))
      return showSteps(context, 'aws', refused === undefined ? done : [...done, refused])
    } finally {
      await cleanUp(context, () => kms.call('crypto.keys.destroy', { path: { kid } }), `the test key ${kid}`)
    }
  } finally {
    http.close()
    uncertified?.close()
    await cleanUp(
      context,
      () => kms.call('external.aws.keys.delete', { path: { id } }),
      `the access key ${id} of the test`,
    )
  }
}

function createProxyClient(http: HttpsClient, url: string, prefix: string, own: XksCredential): ProxyClient {
  const { host } = new URL(url)
  return {
    async ask(rest, body, credential = own) {
      const path = `${prefix}/kms/xks/v1/${rest}`
      const headers = signXksRequest(credential, host, path, JSON.stringify(body))
      const answer = await http.ask(path, { json: body, headers })
      const { json } = answer
      return { status: answer.status, json: typeof json === 'object' && json !== null ? { ...json } : {} }
    },
  }
}

async function testWithoutCertificate({ ask }: ProxyClient): Promise<Step> {
  const { status } = await ask('health', {
    requestMetadata: { kmsOperation: 'KmsHealthCheck', kmsRequestId: 'warder-external-test' },
  })
  return {
    what: 'a signature without a client certificate is refused',
    problem: status === 401 ? undefined : String(status),
  }
}

async function runSteps(
  context: KmsContext,
  proxy: ProxyClient,
  kid: string,
  { credential, grantee }: { readonly credential: XksCredential; readonly grantee: string },
): Promise<readonly Step[]> {
  const done: Step[] = []
  const addStep = (what: string, problem: string | undefined): void => {
    done.push({ what, problem })
  }
  const expect = (
    { status, json }: Awaited<ReturnType<ProxyClient['ask']>>,
    expected: number,
    errorName?: string,
  ): string | undefined =>
    status === expected && (errorName === undefined || json.errorName === errorName)
      ? undefined
      : `${status} ${json.errorName ?? ''} ${json.errorMessage ?? ''}`.trim()
  const buildMetadata = (kmsOperation: string) => ({
    awsPrincipalArn: principal,
    kmsKeyArn: 'arn:aws:kms:xx-test-1:000000000000:key/test',
    kmsOperation,
    kmsRequestId: 'warder-external-test',
  })
  const described = { requestMetadata: buildMetadata('DescribeKey') }
  addStep(
    'health',
    expect(await proxy.ask('health', { requestMetadata: buildMetadata('KmsHealthCheck') }), 200),
  )
  const ungranted = await proxy.ask(`keys/${kid}/metadata`, described)
  addStep('a key without a grant is not found', expect(ungranted, 404, 'KeyNotFoundException'))
  await grantKey(context, kid, [grantee])
  const shown = await proxy.ask(`keys/${kid}/metadata`, described)
  const { keySpec, keyStatus } = shown.json
  const usable = keySpec === 'AES_256' && keyStatus === 'ENABLED'
  addStep('metadata', expect(shown, 200) ?? (usable ? undefined : `${keySpec} ${keyStatus}`))
  const dataKey = randomBytes(32).toString('base64')
  const aad = randomBytes(48).toString('base64')
  const sealed = await proxy.ask(`keys/${kid}/encrypt`, {
    requestMetadata: buildMetadata('GenerateDataKey'),
    plaintext: dataKey,
    additionalAuthenticatedData: aad,
    encryptionAlgorithm: 'AES_GCM',
    ciphertextDataIntegrityValueAlgorithm: 'SHA_256',
  })
  addStep('encrypt', expect(sealed, 200) ?? checkIntegrity(sealed.json, aad))
  const { ciphertextDataIntegrityValue: _, ...parts } = sealed.json
  const decrypt = { requestMetadata: buildMetadata('Decrypt'), encryptionAlgorithm: 'AES_GCM', ...parts }
  const opened = await proxy.ask(`keys/${kid}/decrypt`, { ...decrypt, additionalAuthenticatedData: aad })
  const same = opened.json.plaintext === dataKey ? undefined : 'the plaintext differs'
  addStep('decrypt', expect(opened, 200) ?? same)
  const bare = await proxy.ask(`keys/${kid}/decrypt`, decrypt)
  addStep(
    'decryption without the encryption context is refused',
    expect(bare, 400, 'InvalidCiphertextException'),
  )
  const forged = await proxy.ask(`keys/${kid}/decrypt`, decrypt, {
    ...credential,
    secret: randomBytes(32).toString('base64'),
  })
  addStep('a wrong signature is refused', expect(forged, 401, 'AuthenticationFailedException'))
  return done
}

/** Recomputes the value that AWS KMS checks (XKS Proxy API, appendix C). */
function checkIntegrity(sealed: Readonly<Record<string, unknown>>, aad: string): string | undefined {
  const parts = [
    aad,
    sealed.ciphertextMetadata ?? '',
    sealed.initializationVector,
    sealed.ciphertext,
    sealed.authenticationTag,
  ]
  const hash = createHash('sha256')
  for (const part of parts) hash.update(Buffer.from(String(part), 'base64'))
  return hash.digest('base64') === sealed.ciphertextDataIntegrityValue
    ? undefined
    : 'the integrity value is wrong'
}
