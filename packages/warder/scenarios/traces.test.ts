import assert from 'node:assert/strict'
import { readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { runWarder, startInstallation, temporaryHome } from '../testing/installation.ts'
import { createOfKmip } from '../testing/kmip-create.ts'
import { ownAuthority } from '../testing/own-authority.ts'
import { until } from '../testing/until.ts'

interface Attribute {
  readonly key: string
  readonly value: { readonly stringValue?: string; readonly intValue?: string }
}
interface SentSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly kind: number
  readonly attributes: readonly Attribute[]
}
interface SentTraces {
  readonly resourceSpans: readonly {
    readonly scopeSpans: readonly { readonly spans: readonly SentSpan[] }[]
  }[]
}

test('a trace has the messages of KMIP, on the socket as well, and the commits that a request waits for', async () => {
  const folder = temporaryHome()
  const authority = await ownAuthority(folder)
  const files = await authority.certificate('AUTH', [], ['127.0.0.1'])
  const spans: SentSpan[] = []
  let told = ''
  const collector = createServer(
    {
      cert: readFileSync(files.AUTH_TLS_CERT_FILE ?? ''),
      key: readFileSync(files.AUTH_TLS_KEY_FILE ?? ''),
    },
    async (request, response) => {
      const body = await text(request)
      response.end('{}')
      if (request.url !== '/v1/traces') return
      told += body
      const { resourceSpans } = JSON.parse(body) as SentTraces
      spans.push(...resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans)))
    },
  )
  await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve))
  const { port } = collector.address() as AddressInfo
  const warder = await startInstallation({
    env: {
      KMS_OTLP_ENDPOINT: `https://127.0.0.1:${port}`,
      KMS_OTLP_TRACE_PERCENT: '100',
      KMS_OUTBOUND_CA_FILE: authority.caFile,
      KMS_OUTBOUND_ALLOW_PRIVATE_NETWORKS: 'true',
    },
  })
  try {
    const client = warder.client('kms')
    const headers = { authorization: `Bearer ${await warder.adminToken()}` }
    const ask = async (path: string, json: object) => {
      const { status, text: answer } = await client.ask(path, { json, headers })
      assert.equal(status, 200, answer)
      return JSON.parse(answer)
    }
    const { kid } = await ask('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM', tags: ['of a trace'] })
    const made = await ask('/kmip/2_1', createOfKmip)
    const query = await runWarder(['kmip', 'query', '--home', warder.home])
    assert.equal(query.code, 0, query.err)
    client.close()
    const named = (name: string) => spans.filter((span) => span.name === name)
    await until('the spans are sent', () => named('kmip.batch').length > 0 && named('COMMIT').length > 1)

    const below = (name: string, parent: SentSpan | undefined) =>
      named(name).filter(
        ({ traceId, parentSpanId }) => traceId === parent?.traceId && parentSpanId === parent?.spanId,
      )
    const of = (span: SentSpan | undefined, key: string) =>
      span?.attributes.find((attribute) => attribute.key === key)?.value
    const [rest] = named('crypto.keys.create')
    const commit = below('COMMIT', rest).find((span) =>
      of(span, 'db.query.summary')?.stringValue?.includes('INSERT managed_object'),
    )
    assert.equal(commit?.kind, 3)
    assert.deepEqual(of(commit, 'db.system.name'), { stringValue: 'sqlite' })

    const [message] = named('kmip.Create')
    assert.deepEqual([message?.kind, of(message, 'kmip.operations')], [1, { stringValue: 'Create' }])
    assert.ok(spans.some(({ spanId, kind }) => spanId === message?.parentSpanId && kind === 2))
    assert.equal(below('COMMIT', message).length, 1)

    const [onSocket] = named('kmip.batch')
    assert.deepEqual([onSocket?.kind, onSocket?.parentSpanId], [2, undefined])
    assert.deepEqual(of(onSocket, 'kmip.failed_items'), { intValue: '0' })

    const [{ value: object }] = made.value
    for (const secret of [kid, object, 'of a trace', headers.authorization.slice(7)])
      assert.ok(!told.includes(secret), `a trace has ${secret}`)
  } finally {
    await warder.stop()
    collector.closeAllConnections()
    collector.close()
    rmSync(folder, { recursive: true })
  }
})
