import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { listImported, moduleGraph } from './module-graph.ts'

const graph = moduleGraph(fileURLToPath(new URL('..', import.meta.url)), [
  'packages',
  'bench',
  'conformance',
  'scripts',
])
const isTest = (file: string): boolean => /\.test\.ts$|(^|\/)(?:testing|fixtures)\//.test(file)
const all = [...graph.keys()]
const product = listImported(
  graph,
  all.filter((file) => !isTest(file)),
)
const tests = listImported(graph, all.filter(isTest))

/** Beginnings of `file#name`, with the reason why nothing of the product imports them. */
const allowed: Readonly<Record<string, string>> = {
  'packages/pki/x509/':
    'the library offers what RFC 5280, RFC 6960 and RFC 9608 have, whether a service uses it yet or not',
  'packages/covercrypt/structure-formats.ts#decodeStructure': 'an exchanged object by itself',
  'packages/covercrypt/encapsulation.ts#decodeEncapsulation': 'an exchanged object by itself',
  'packages/covercrypt/user-key.ts#isValidUserId': 'what tracing asks of a key',
  'packages/covercrypt/frames.ts#encodeBulkSealRequest': 'both sides of a request',
  'packages/client/': 'a package that others install: its entries are for their programs',
  'packages/auth/service.ts#authService': 'loaded by its name: packages/warder/installation/services.ts',
  'packages/kms/service/service.ts#kmsService':
    'loaded by its name: packages/warder/installation/services.ts',
}

const typeNames = new Set(
  [...graph].flatMap(([file, { declared }]) =>
    declared.filter(({ isType }) => isType).map(({ name }) => `${file}#${name}`),
  ),
)

/**
 * Exports of the packages that have no reason. One has a reason when the product imports it. Besides: a type that its
 * own file uses belongs to what the file exports, and an index may offer it; a value that its own file uses may be
 * exported for tests; and an index may offer to tests of others what its folder has.
 */
function withoutReason(): readonly string[] {
  return all
    .filter((file) => file.startsWith('packages/') && !isTest(file) && !file.endsWith('.gen.ts'))
    .flatMap((file) => {
      const { declared = [], reExports = [] } = graph.get(file) ?? {}
      const own = declared
        .filter(({ name, isType, usedAtHome }) => !usedAtHome || !(isType || tests.has(`${file}#${name}`)))
        .map(({ name }) => `${file}#${name}`)
      const others = reExports
        .flatMap(({ target, names }) => names.filter(({ name }) => !typeNames.has(`${target}#${name}`)))
        .map(({ as }) => `${file}#${as}`)
        .filter((key) => !tests.has(key))
      return [...own, ...others].filter((key) => !product.has(key))
    })
}

test('every export of the packages is imported by something else than tests', () => {
  assert.ok(graph.size > 1000 && product.size > 2000)
  const found = withoutReason()
  const reasons = Object.keys(allowed)
  assert.deepEqual(
    found.filter((key) => !reasons.some((reason) => key.startsWith(reason))),
    [],
  )
  assert.deepEqual(
    reasons.filter((reason) => !found.some((key) => key.startsWith(reason))),
    [],
    'reasons that nothing needs',
  )
})

test('the reader follows imports by path, by package, through an index, renamed, whole and dynamic', () => {
  const root = mkdtempSync(join(tmpdir(), 'warder-graph-'))
  try {
    mkdirSync(join(root, 'packages/x/part'), { recursive: true })
    mkdirSync(join(root, 'packages/y'))
    const files = {
      'x/package.json': '{"name":"@warder/x","exports":{"./*":"./*/index.ts"}}',
      'x/part/index.ts': "export { a, b as c } from './one.ts'\nexport * from './two.ts'\n",
      'x/part/one.ts': 'export const a = 1\nexport const b = 1\nexport interface Unused {}\n',
      'x/part/two.ts': 'export function d() {}\nexport async function e() {}\nexport class F {}\n',
      'y/one.ts':
        "import {\n  c,\n  type F,\n} from '@warder/x/part'\nconst { e } = await import('@warder/x/part')\n",
      'y/two.ts': "import * as all from './three.ts'\n",
      'y/three.ts': 'export let g = 1\n',
    }
    for (const [name, text] of Object.entries(files)) writeFileSync(join(root, 'packages', name), text)
    const read = moduleGraph(root, ['packages'])
    assert.deepEqual(
      [...listImported(read, read.keys())].sort(),
      [
        ...['part/index.ts#F', 'part/index.ts#c', 'part/index.ts#e', 'part/one.ts#b'].map(
          (key) => `x/${key}`,
        ),
        ...['x/part/two.ts#F', 'x/part/two.ts#e', 'y/three.ts#g'],
      ].map((key) => `packages/${key}`),
    )
    const { declared } = read.get('packages/x/part/one.ts') ?? { declared: [] }
    assert.deepEqual(
      declared.map(({ name, isType, usedAtHome }) => [name, isType, usedAtHome]),
      [
        ['a', false, false],
        ['b', false, false],
        ['Unused', true, false],
      ],
    )
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
})
