import { createHash, randomBytes } from 'node:crypto'
import { clientOf, type HttpsClient } from '../client/index.ts'
import type { KmsContext } from '../kms/verb.ts'
import { granteeAt } from './aws-enable.ts'
import { type AwsCredential, awsHeaders } from './aws-signing.ts'
import { readTestClient } from './partner-files.ts'
import { cleanUp, grantKey, requireServing, type Step, showSteps, stateOf } from './store.ts'

const principal = 'arn:aws:iam::000000000000:role/warder-external-test'

/** How AWS KMS would ask. */
interface Asker {
  /** @returns status and body */
  ask(
    rest: string,
    body: object,
    credential?: AwsCredential,
  ): Promise<{ readonly status: number; readonly json: Readonly<Record<string, unknown>> }>
}

/**
 * A whole exchange as AWS KMS has it, with an access key and a key that are made for it and taken away again.
 * @param prefix path before `/kms/xks/v1`
 */
export async function testAws(context: KmsContext, prefix: string, region: string): Promise<number> {
  const state = await stateOf(context, 'aws')
  requireServing(state)
  const { kms, places } = context
  const certified = Array.isArray(state.client_names) && state.client_names.length > 0
  const certificate = certified
    ? readTestClient(places.home, 'aws', 'warder external aws enable --client-ca FILE')
    : undefined
  const { id, secret } = await kms.call('external.aws.keys.create', {
    body: { region, uri_prefix: prefix },
  })
  const http = clientOf(places.kms, certificate)
  const stranger = certified ? clientOf(places.kms) : undefined
  try {
    const { kid } = await kms.call('crypto.keys.create', {
      body: { kty: 'oct', alg: 'A256GCM', tags: ['warder-external-test'] },
    })
    try {
      const credential = { id, secret, region }
      const askerBy = (client: HttpsClient) => askerOf(client, places.kms.url, prefix, credential)
      const done = await steps(context, askerBy(http), kid, {
        credential,
        grantee: granteeAt(prefix, principal),
      })
      const refused = stranger && (await withoutCertificate(askerBy(stranger)))
      return showSteps(context, 'aws', refused === undefined ? done : [...done, refused])
    } finally {
      await cleanUp(context, () => kms.call('crypto.keys.destroy', { path: { kid } }), `the test key ${kid}`)
    }
  } finally {
    http.close()
    stranger?.close()
    await cleanUp(
      context,
      () => kms.call('external.aws.keys.delete', { path: { id } }),
      `the access key ${id} of the test`,
    )
  }
}

function askerOf(http: HttpsClient, url: string, prefix: string, own: AwsCredential): Asker {
  const { host } = new URL(url)
  return {
    async ask(rest, body, credential = own) {
      const path = `${prefix}/kms/xks/v1/${rest}`
      const headers = awsHeaders(credential, host, path, JSON.stringify(body), Date.now())
      const answer = await http.ask(path, { json: body, headers })
      const { json } = answer
      return { status: answer.status, json: typeof json === 'object' && json !== null ? { ...json } : {} }
    },
  }
}

async function withoutCertificate({ ask }: Asker): Promise<Step> {
  const { status } = await ask('health', {
    requestMetadata: { kmsOperation: 'KmsHealthCheck', kmsRequestId: 'warder-external-test' },
  })
  return {
    what: 'a signature without a client certificate is refused',
    problem: status === 401 ? undefined : String(status),
  }
}

async function steps(
  context: KmsContext,
  asker: Asker,
  kid: string,
  { credential, grantee }: { readonly credential: AwsCredential; readonly grantee: string },
): Promise<readonly Step[]> {
  const done: Step[] = []
  const step = (what: string, problem: string | undefined): void => {
    done.push({ what, problem })
  }
  const expect = (
    { status, json }: Awaited<ReturnType<Asker['ask']>>,
    wanted: number,
    errorName?: string,
  ): string | undefined =>
    status === wanted && (errorName === undefined || json.errorName === errorName)
      ? undefined
      : `${status} ${json.errorName ?? ''} ${json.errorMessage ?? ''}`.trim()
  const metadata = (kmsOperation: string) => ({
    awsPrincipalArn: principal,
    kmsKeyArn: 'arn:aws:kms:xx-test-1:000000000000:key/test',
    kmsOperation,
    kmsRequestId: 'warder-external-test',
  })
  const described = { requestMetadata: metadata('DescribeKey') }
  step('health', expect(await asker.ask('health', { requestMetadata: metadata('KmsHealthCheck') }), 200))
  const ungranted = await asker.ask(`keys/${kid}/metadata`, described)
  step('a key without a grant is not there', expect(ungranted, 404, 'KeyNotFoundException'))
  await grantKey(context, kid, [grantee])
  const shown = await asker.ask(`keys/${kid}/metadata`, described)
  const { keySpec, keyStatus } = shown.json
  const usable = keySpec === 'AES_256' && keyStatus === 'ENABLED'
  step('metadata', expect(shown, 200) ?? (usable ? undefined : `${keySpec} ${keyStatus}`))
  const dataKey = randomBytes(32).toString('base64')
  const aad = randomBytes(48).toString('base64')
  const sealed = await asker.ask(`keys/${kid}/encrypt`, {
    requestMetadata: metadata('GenerateDataKey'),
    plaintext: dataKey,
    additionalAuthenticatedData: aad,
    encryptionAlgorithm: 'AES_GCM',
    ciphertextDataIntegrityValueAlgorithm: 'SHA_256',
  })
  step('encrypt', expect(sealed, 200) ?? integrityProblem(sealed.json, aad))
  const { ciphertextDataIntegrityValue: _, ...parts } = sealed.json
  const decrypt = { requestMetadata: metadata('Decrypt'), encryptionAlgorithm: 'AES_GCM', ...parts }
  const opened = await asker.ask(`keys/${kid}/decrypt`, { ...decrypt, additionalAuthenticatedData: aad })
  const same = opened.json.plaintext === dataKey ? undefined : 'the plaintext is another'
  step('decrypt', expect(opened, 200) ?? same)
  const bare = await asker.ask(`keys/${kid}/decrypt`, decrypt)
  step('without its encryption context it does not decrypt', expect(bare, 400, 'InvalidCiphertextException'))
  const forged = await asker.ask(`keys/${kid}/decrypt`, decrypt, {
    ...credential,
    secret: randomBytes(32).toString('base64'),
  })
  step('another signature is refused', expect(forged, 401, 'AuthenticationFailedException'))
  return done
}

/** Recomputes the value that AWS KMS checks (XKS Proxy API, appendix C). */
function integrityProblem(sealed: Readonly<Record<string, unknown>>, aad: string): string | undefined {
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
    : 'the integrity value does not fit'
}
