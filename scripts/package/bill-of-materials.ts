import { createHash } from 'node:crypto'
import type { Needed } from './lock.ts'
import { foreignDependencies, type Manifest, readManifest } from './manifest.ts'
import { bundled } from './warder.ts'

/**
 * The bill of materials of an installation on a platform: CycloneDX 1.6, JSON. The same packages yield the same bytes.
 * @param packages from registries, by the lock file
 * @param time in the bill
 */
export function billOfMaterials(packages: readonly Needed[], time: Date): object {
  const product = readManifest('packages/warder')
  const own = bundled.map((name) => readManifest(`packages/${name}`))
  const reference = new Map(packages.map((each) => [each.path, formatPurl(each)]))
  const createReference = (name: string, member: string): string => {
    const path = [`node_modules/${name}`].find((each) => reference.has(each))
    if (path === undefined) throw new Error(`${member} needs ${name}, which is not among what is installed`)
    return reference.get(path) as string
  }
  const members = [product, ...own].map((manifest) => ({
    ref: formatPurl(manifest),
    dependsOn: [
      ...Object.keys(foreignDependencies([manifest])).map((name) => createReference(name, manifest.name)),
      ...own.filter(({ name }) => name in (manifest.dependencies ?? {})).map(formatPurl),
      ...(manifest === product ? packages.filter(carriesNode).map(formatPurl) : []),
    ].toSorted(),
  }))
  const body = {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      timestamp: time.toISOString(),
      component: { ...toComponent(product), type: 'application' },
    },
    components: [
      ...own.map(toComponent),
      ...packages.map((each) => ({ ...toComponent(each), ...toHashes(each) })),
    ],
    dependencies: [
      ...members,
      ...packages.map((each) => ({
        ref: formatPurl(each),
        dependsOn: each.needs.map((path) => reference.get(path) as string).toSorted(),
      })),
    ],
  }
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    serialNumber: computeSerial(body),
    ...body,
  }
}

const carriesNode = ({ name }: { readonly name: string }): boolean =>
  /^node-(bin-)?(linux|darwin|win)-/.test(name)

/** Package URL (ECMA-427): the `@` of a scope is escaped. */
function formatPurl({ name, version }: { readonly name: string; readonly version: string }): string {
  return `pkg:npm/${name.replace('@', '%40')}@${version}`
}

function toComponent(each: Manifest | Needed): object {
  const { name, version, license } = each
  const group = /^(@[^/]+)\//.exec(name)?.[1]
  return {
    type: carriesNode(each) ? 'platform' : 'library',
    'bom-ref': formatPurl(each),
    ...(group !== undefined && { group }),
    ...{ name: group === undefined ? name : name.slice(group.length + 1), version, purl: formatPurl(each) },
    ...(license !== undefined && { licenses: [toLicence(license)] }),
  }
}

/** SPDX: an identifier, or an expression of several. */
function toLicence(text: string): object {
  return /[ ()]/.test(text) ? { expression: text } : { license: { id: text } }
}

/** The lock file has the hash of the archive in Base64 (Subresource Integrity), the bill in hexadecimal. */
function toHashes({ integrity = '' }: Needed): object {
  const [algorithm, base64 = ''] = integrity.split('-')
  if (algorithm !== 'sha512') return {}
  return { hashes: [{ alg: 'SHA-512', content: Buffer.from(base64, 'base64').toString('hex') }] }
}

/**
 * A UUID (version 8, RFC 9562 §5.8) of the content instead of a random one, so that the same bill has the same number.
 */
function computeSerial(body: object): string {
  const hash = createHash('sha256').update(JSON.stringify(body)).digest().subarray(0, 16)
  hash[6] = ((hash[6] as number) & 0x0f) | 0x80
  hash[8] = ((hash[8] as number) & 0x3f) | 0x80
  const hex = hash.toString('hex')
  return `urn:uuid:${[hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')}`
}
