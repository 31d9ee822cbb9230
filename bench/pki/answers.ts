import { generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import { startKms } from '@warder/kms/testing'
import { parseCertificate } from '@warder/pki'
import { createCertId, ocspRequest } from '@warder/pki/testing'

/**
 * Measures what an answer of OCSP costs that is signed for its request, from the bytes of the request to those of the
 * response, without the HTTPS around it: against bare signatures with P-256, in turn, by processor time.
 *
 * Run: `node bench/pki/answers.ts [SECONDS]`
 */
const seconds = Number(process.argv[2] ?? 2)
const rounds = 5
const requests = 256

await using kms = await startKms({ config: { ocsp_max_signatures_per_second: 1_000_000 } })
const alice = kms.user('alice')
const authority = (await alice.post('/v1/pki/authorities', { subject: 'CN=Bench', alg: 'ES256' })).json
const path = `/v1/pki/authorities/${authority.id}/certificates`
const leaf = (await alice.post(path, { alg: 'ES256', names: ['a.example'] })).json
const parsePem = (pem: string) =>
  parseCertificate(Buffer.from(pem.replaceAll(/-----[A-Z ]+-----|\s/g, ''), 'base64'))
const { subject: name, spki } = parsePem(authority.certificate)
const id = createCertId('sha1', { name, spki }, parsePem(leaf.certificate).serial)
const asked = Array.from({ length: requests }, () => ocspRequest([id], randomBytes(16)))
const paths = asked.map((request) => encodeURIComponent(request.toString('base64')))
const { ocsp } = kms.services.published
const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const message = randomBytes(200)

/** Microseconds of processor time for each. */
async function cost(work: (index: number) => unknown): Promise<number> {
  const before = process.cpuUsage()
  const until = performance.now() + (seconds * 1000) / rounds
  let count = 0
  while (performance.now() < until) for (let one = 0; one < 20; one += 1) await work(count++ % requests)
  const { user, system } = process.cpuUsage(before)
  return (user + system) / count
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN
const ratios: { readonly body: number; readonly path: number }[] = []
for (let round = 0; round <= rounds; round += 1) {
  const bare = await cost(() => sign('sha256', message, privateKey))
  const body = bare / (await cost((index) => ocsp.forRequest(asked[index] ?? Buffer.alloc(0))))
  const inPath = bare / (await cost((index) => ocsp.forPath(paths[index] ?? '')))
  // The first round warms up.
  if (round > 0) ratios.push({ body, path: inPath })
}
process.stdout.write(
  `a fresh answer: ${median(ratios.map(({ body }) => body)).toFixed(2)} of bare signing for a POST, ` +
    `${median(ratios.map((one) => one.path)).toFixed(2)} for a GET\n`,
)
