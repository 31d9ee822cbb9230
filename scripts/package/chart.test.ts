import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { rootKeySources } from '@warder/root-key-providers/settings'
import { formatForeignReference, formatSettingsReference } from '@warder/runtime/testing'
import { Ajv } from 'ajv'
import { getForeignSettings, getSettings } from 'warder/testing'
import { parse } from 'yaml'
import { root } from '../bundle/entry-points.ts'
import { readManifest } from './manifest.ts'

const read = (name: string) => readFileSync(join(root, 'deploy/helm/warder', name), 'utf8')

test('the values of the chart are those that its schema describes', () => {
  const validate = new Ajv({ strict: false }).compile(JSON.parse(read('values.schema.json')))
  const values: Record<string, unknown> = parse(read('values.yaml'))
  const isValid: boolean = validate(values)
  assert.ok(isValid, JSON.stringify(validate.errors))
  assert.equal(values.replicas, 2)
  assert.ok(!validate({ ...values, replicas: 0 }))
  assert.ok(!validate({ ...values, replicaCount: 2 }))
})

test('the chart takes every setting of a source of the root key, and no other', () => {
  const { source, existingSecret, key, passphrase, file, filesSecret, ...tables } = JSON.parse(
    read('values.schema.json'),
  ).properties.rootKey.properties
  const declared = Object.keys(getSettings('kms'))
    .map((name) => /^root_key_([a-z0-9]+)\.([a-z0-9_]+)$/.exec(name))
    .filter((found) => found !== null)
    .map(([, table, name]) => `${table}.${name}`)
  const taken = Object.entries<{ properties: object }>(tables).flatMap(([table, { properties }]) =>
    Object.keys(properties).map((name) => `${table}.${name}`),
  )
  assert.deepEqual(taken.toSorted(), declared.toSorted())
  assert.deepEqual(
    Object.keys(getSettings('auth')).filter((name) => name.startsWith('root_key')),
    Object.keys(getSettings('kms')).filter((name) => name.startsWith('root_key')),
  )
  const [, needed = ''] = /\$needed := dict([\s\S]*?)\}\}/.exec(read('templates/_helpers.tpl')) ?? []
  const sources = [...needed.matchAll(/"([a-z0-9-]+)" \(?list/g)].map(([, name]) => name)
  assert.deepEqual(sources.toSorted(), rootKeySources.filter((name) => name !== 'systemd').toSorted())
})

test('only the readiness probe uses the health of a node, which fails while it is sealed', () => {
  const template = read('templates/statefulset.yaml')
  const probes = [...template.matchAll(/(\w+)Probe:\n +(\w+):/g)].map(([, name, check]) => `${name} ${check}`)
  assert.deepEqual(probes, ['startup tcpSocket', 'readiness exec', 'liveness tcpSocket'])
})

test('the chart has the version of the product, and sets what the services read', () => {
  const { version, appVersion } = parse(read('Chart.yaml'))
  assert.deepEqual(
    [version, appVersion],
    [readManifest('packages/warder').version, readManifest('packages/warder').version],
  )
  const known = (['auth', 'kms'] as const)
    .map(
      (name) =>
        formatSettingsReference(name, getSettings(name)) +
        formatForeignReference(name, getForeignSettings(name)),
    )
    .join('\n')
  const template = read('templates/statefulset.yaml').replaceAll('{{ $service }}', 'KMS')
  const set = [...template.matchAll(/name: ((?:AUTH|KMS)_[A-Z_]+)/g)].map(([, name = '']) => name)
  assert.ok(set.length >= 8)
  for (const name of set) assert.ok(known.includes(`\`${name}\``), name)
})
