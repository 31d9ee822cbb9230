import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Failure } from '@warder/base'
import fc from 'fast-check'
import { createRouter } from './router.ts'

interface Row {
  readonly methods: readonly string[]
  readonly path: string
  readonly target: string
}
const row = (methods: string, path: string): Row => ({
  methods: methods.split(' '),
  path,
  target: `${methods} ${path}`,
})
const createTestRouter = (...rows: readonly Row[]) => createRouter(rows)
const findRoute = (router: ReturnType<typeof createTestRouter>, method: string, path: string) => {
  const match = router.find(method, path)
  return match.target === undefined ? match.allow : [match.target, { ...match.parameters }]
}
const assertRefused = (act: () => unknown, sentence: RegExp) =>
  assert.throws(act, (thrown) => {
    assert.ok(thrown instanceof Failure)
    assert.equal(thrown.kind, 'bad_request')
    assert.match(thrown.message, sentence)
    return true
  })

test('text wins over a parameter and a parameter over a tail, wherever they are declared', () => {
  const rows = [row('GET', '/k/{rest*}'), row('GET', '/k/{id}'), row('GET', '/k/new'), row('GET', '/k')]
  for (const order of [rows, [...rows].reverse()]) {
    const router = createTestRouter(...order)
    assert.deepEqual(findRoute(router, 'GET', '/k'), ['GET /k', {}])
    assert.deepEqual(findRoute(router, 'GET', '/k/new'), ['GET /k/new', {}])
    assert.deepEqual(findRoute(router, 'GET', '/k/old'), ['GET /k/{id}', { id: 'old' }])
    assert.deepEqual(findRoute(router, 'GET', '/k/new/x'), ['GET /k/{rest*}', { rest: 'new/x' }])
  }
})

test('a tail with two asterisks is taken as it was sent', () => {
  const router = createTestRouter(row('GET', '/o/{rest**}'), row('GET', '/t/{rest*}'))
  for (const tail of ['a%2Fb//c%3D', '..%2f', '%zz', 'a/', '%00'])
    assert.deepEqual(findRoute(router, 'GET', `/o/${tail}`), ['GET /o/{rest**}', { rest: tail }])
  assertRefused(() => router.find('GET', '/t/a%2Fb'), /must not contain dot segments/)
  assert.equal(findRoute(router, 'GET', '/o/'), undefined)
})

test('a branch that leads nowhere does not hide another that does', () => {
  const router = createTestRouter(
    row('GET', '/a/b/c'),
    row('GET', '/a/{x}/d'),
    row('GET', '/{all*}'),
    row('POST', '/{one}/b/{two}'),
  )
  assert.deepEqual(findRoute(router, 'GET', '/a/b/d'), ['GET /a/{x}/d', { x: 'b' }])
  assert.deepEqual(findRoute(router, 'GET', '/a/b/e/f'), ['GET /{all*}', { all: 'a/b/e/f' }])
  assert.deepEqual(findRoute(router, 'POST', '/a/b/d2'), ['POST /{one}/b/{two}', { one: 'a', two: 'd2' }])
})

test('parameters at one place may have another name for each method', () => {
  const router = createTestRouter(row('GET', '/r/{realm}/u'), row('POST', '/r/{realm_id}/u'))
  assert.deepEqual(findRoute(router, 'GET', '/r/a/u'), ['GET /r/{realm}/u', { realm: 'a' }])
  assert.deepEqual(findRoute(router, 'POST', '/r/a/u'), ['POST /r/{realm_id}/u', { realm_id: 'a' }])
})

test('HEAD is answered where GET is, unless it has an operation of its own', () => {
  const router = createTestRouter(
    row('GET', '/a'),
    row('GET', '/p/{x}'),
    row('HEAD', '/p/{x}'),
    row('POST', '/b'),
  )
  assert.deepEqual(findRoute(router, 'HEAD', '/a'), ['GET /a', {}])
  assert.deepEqual(findRoute(router, 'HEAD', '/p/1'), ['HEAD /p/{x}', { x: '1' }])
  assert.deepEqual(findRoute(router, 'HEAD', '/b'), ['POST'])
})

test('a path answers and names the methods of its own declaration; one that does not exist names none', () => {
  const router = createTestRouter(
    row('GET', '/a/b'),
    row('PUT POST', '/a/{x}'),
    row('DELETE', '/a/{rest*}'),
    row('PATCH', '/a/c'),
  )
  for (const method of ['PATCH', 'PUT', 'POST', 'DELETE', 'get'])
    assert.deepEqual(findRoute(router, method, '/a/b'), ['GET', 'HEAD'], method)
  assert.deepEqual(findRoute(router, 'PUT', '/a/%62'), ['PUT POST /a/{x}', { x: 'b' }])
  for (const method of ['GET', 'DELETE', 'PATCH'])
    assert.deepEqual(findRoute(router, method, '/a/z'), ['POST', 'PUT'], method)
  assert.deepEqual(findRoute(router, 'GET', '/a/b/c'), ['DELETE'])
  for (const path of ['/', '/a', '/A/b', '/b', '//a/b', 'a/b', '', '*', 'http://h/a/b']) {
    assert.equal(findRoute(router, 'GET', path), undefined, path)
  }
})

test('empty segments are segments: they match no parameter and begin no tail', () => {
  const router = createTestRouter(row('GET', '/a/{x}'), row('GET', '/t/{rest*}'), row('GET', '/'))
  assert.deepEqual(findRoute(router, 'GET', '/'), ['GET /', {}])
  for (const path of ['//', '/a', '/a/', '/a//', '//a/x', '/a/x/', '/t', '/t/', '/t//x']) {
    assert.equal(findRoute(router, 'GET', path), undefined, path)
  }
  assert.deepEqual(findRoute(router, 'GET', '/t/x//y/'), ['GET /t/{rest*}', { rest: 'x//y/' }])
})

test('an encoded slash, dot or letter is data: it neither separates nor matches text', () => {
  const router = createTestRouter(row('GET', '/a/{x}'), row('GET', '/a/admin'), row('GET', '/a/{x}/b'))
  assert.deepEqual(findRoute(router, 'GET', '/a/x%2Fb'), ['GET /a/{x}', { x: 'x/b' }])
  assert.deepEqual(findRoute(router, 'GET', '/a/x%2fb'), ['GET /a/{x}', { x: 'x/b' }])
  assert.deepEqual(findRoute(router, 'GET', '/a/%61dmin'), ['GET /a/{x}', { x: 'admin' }])
  assert.equal(findRoute(router, 'GET', '/%61/x'), undefined)
  assert.deepEqual(findRoute(router, 'GET', '/a/..'), ['GET /a/{x}', { x: '..' }])
  assert.deepEqual(findRoute(router, 'GET', '/a/%2e%2E'), ['GET /a/{x}', { x: '..' }])
  assert.equal(findRoute(router, 'GET', '/a/x/../admin'), undefined)
})

test('a parameter is decoded once', () => {
  const router = createTestRouter(row('GET', '/{x}'))
  assert.deepEqual(findRoute(router, 'GET', '/%252F'), ['GET /{x}', { x: '%2F' }])
  assert.deepEqual(findRoute(router, 'GET', '/%2525'), ['GET /{x}', { x: '%25' }])
  assert.deepEqual(findRoute(router, 'GET', '/a+b'), ['GET /{x}', { x: 'a+b' }])
})

test('a parameter that is no percent-encoded UTF-8 or holds a control character is refused without repeating it', () => {
  const router = createTestRouter(row('GET', '/{kid}'))
  for (const raw of ['%', '%2', '%zz', '%C0%AF', '%ED%A0%80', '%F4%90%80%80', '%ff', 'secret%E4']) {
    assertRefused(
      () => router.find('GET', `/${raw}`),
      /^Invalid path parameter: kid: is not valid percent-encoding\.$/,
    )
  }
  for (const raw of ['%00', 'a%0d%0aSet-Cookie', '%1b[31m', '%7F', '%09']) {
    assertRefused(
      () => router.find('GET', `/${raw}`),
      /^Invalid path parameter: kid: must not contain control characters\.$/,
    )
  }
})

test('a tail never leaves its folder, in whatever spelling', () => {
  const router = createTestRouter(row('GET', '/f/{rest*}'))
  for (const tail of [
    '..',
    'a/..',
    '../a',
    'a/../b',
    '.',
    'a/./b',
    '%2e%2e',
    'a/%2E%2e/b',
    'a/.%2e',
    'a%2Fb',
    '%2F',
    '..%2f',
  ])
    assertRefused(
      () => router.find('GET', `/f/${tail}`),
      /^Invalid path parameter: rest: must not contain dot segments that leave the path\.$/,
    )
  assert.deepEqual(findRoute(router, 'GET', '/f/a/...'), ['GET /f/{rest*}', { rest: 'a/...' }])
  assert.deepEqual(findRoute(router, 'GET', '/f/%252e%252e/a'), ['GET /f/{rest*}', { rest: '%2e%2e/a' }])
})

test('names of the language are names like any other', () => {
  const router = createTestRouter(row('GET', '/{constructor}/{toString}'), row('GET', '/{__proto__}'))
  const match = router.find('GET', '/__proto__/hasOwnProperty')
  assert.ok(match.target !== undefined)
  assert.equal(match.target, 'GET /{constructor}/{toString}')
  assert.equal(match.parameters.constructor, '__proto__')
  assert.equal(Object.getPrototypeOf(match.parameters), null)
  const lone = router.find('GET', '/x')
  assert.ok(lone.target !== undefined)
  assert.deepEqual(Object.entries(lone.parameters), [['__proto__', 'x']])
  for (const method of ['__proto__', 'constructor', 'toString', ''])
    assert.deepEqual(findRoute(router, method, '/x'), ['GET', 'HEAD'])
})

test('two operations for one method and path, or one name twice in a path, are a mistake of the table', () => {
  assert.throws(
    () => createTestRouter(row('GET', '/a/{x}'), row('GET', '/a/{y}')),
    /two operations have the route GET \/a\/\{y\}/,
  )
  assert.throws(
    () => createTestRouter(row('GET POST', '/a'), row('POST', '/a')),
    /two operations have the route POST \/a/,
  )
  assert.throws(() => createTestRouter(row('GET', '/{x}/{x}')), /\{x\} appears twice/)
  assert.throws(() => createTestRouter(row('GET', '/{x*}/a')), /tail must be the last/)
})

test('a huge path is looked up in steps of the declared routes, not of its own length', () => {
  // Each level has text and a parameter: a walk that tried all ways of a long path would never end.
  const rows = ['/a', '/{p1}', '/a/a', '/a/{p2}', '/{p1}/a', '/{p1}/{p2}', '/a/a/{p3}', '/{p1}/{p2}/{p3}/a']
  const router = createTestRouter(...rows.map((path) => row('GET', path)))
  assert.equal(findRoute(router, 'GET', '/a'.repeat(1_000_000)), undefined)
  assert.equal(findRoute(router, 'GET', '/'.repeat(1_000_000)), undefined)
  assert.deepEqual(findRoute(createTestRouter(row('GET', '/{x}')), 'GET', `/${'a'.repeat(1_000_000)}`), [
    'GET /{x}',
    { x: 'a'.repeat(1_000_000) },
  ])
  const tail = 'a/'.repeat(100_000)
  assert.deepEqual(findRoute(createTestRouter(row('GET', '/{x*}')), 'GET', `/${tail}`), [
    'GET /{x*}',
    { x: tail },
  ])
})

const text = fc.string({ unit: 'grapheme', minLength: 1 }).filter(
  // biome-ignore lint/suspicious/noControlCharactersInRegex: what a parameter must not hold
  (value) => value.isWellFormed() && !/[\u0000-\u001f\u007f]/.test(value),
)

test('any text without control characters comes through a parameter as it was before its encoding', () => {
  const router = createTestRouter(row('GET', '/a/{x}/b/{y}'))
  fc.assert(
    fc.property(text, text, (x, y) => {
      const path = `/a/${encodeURIComponent(x)}/b/${encodeURIComponent(y)}`
      assert.deepEqual(findRoute(router, 'GET', path), ['GET /a/{x}/b/{y}', { x, y }])
    }),
  )
})

test('the route is the one that a plain reading of the rules would choose', () => {
  const segment = fc.constantFrom('a', 'b', '{p}', '{t*}')
  const declared = fc
    .array(segment, { minLength: 1, maxLength: 3 })
    .filter((parts) => !parts.slice(0, -1).includes('{t*}'))
    .map((parts) => parts.map((part, index) => (part === '{p}' ? `{p${index}}` : part)))
  const method = fc.constantFrom('GET', 'POST', 'HEAD')
  const table = fc.uniqueArray(fc.tuple(method, declared), {
    maxLength: 8,
    selector: ([name, parts]) => `${name} ${parts.join('/')}`,
  })
  const asked = fc.array(fc.constantFrom('a', 'b', 'c', '', 'a%2Fb'), { minLength: 1, maxLength: 4 })
  const matches = (parts: readonly string[], segments: readonly string[]): boolean =>
    parts.every((part, index) => {
      const given = segments[index]
      return given !== undefined && (part.startsWith('{') ? given !== '' : given === part)
    }) &&
    (parts.at(-1) === '{t*}' || parts.length === segments.length)
  const rank = (part: string): number => (part === '{t*}' ? 2 : part.startsWith('{') ? 1 : 0)
  fc.assert(
    fc.property(table, method, asked, (rows, wanted, segments) => {
      const router = createRouter(
        rows.map(([name, parts]) => ({
          methods: [name],
          path: `/${parts.join('/')}`,
          target: { name, parts },
        })),
      )
      const fitting = rows.filter(([, parts]) => matches(parts, segments))
      const [first] = fitting.toSorted(([, left], [, right]) => {
        const at = left.findIndex((part, index) => rank(part) !== rank(right[index] ?? ''))
        return at === -1 ? 0 : rank(left[at] ?? '') - rank(right[at] ?? '')
      })
      // The path comes first, and its methods are all that there are; HEAD beats GET.
      const own = fitting.filter(([, parts]) => parts.join('/') === first?.[1].join('/'))
      const answering = (name: string) => own.find(([given]) => given === name)
      const expected = answering(wanted) ?? (wanted === 'HEAD' ? answering('GET') : undefined)
      let target: { readonly name: string; readonly parts: readonly string[] } | undefined
      let allow: readonly string[] | undefined
      try {
        const match = router.find(wanted, `/${segments.join('/')}`)
        target = match.target
        allow = match.allow
      } catch (thrown) {
        // A tail with an encoded slash.
        assert.ok(thrown instanceof Failure)
        assert.equal(expected?.[1].at(-1), '{t*}')
        return
      }
      assert.deepEqual(target && [target.name, target.parts], expected && [...expected])
      if (expected !== undefined) return
      const names = new Set(own.flatMap(([name]) => (name === 'GET' ? ['GET', 'HEAD'] : [name])))
      assert.deepEqual(allow, names.size === 0 ? undefined : [...names].sort())
    }),
    { numRuns: 500 },
  )
})

const piece = fc.constantFrom(
  '/',
  '%',
  '%2',
  '%2F',
  '%00',
  '%e4',
  '..',
  '.',
  'a',
  '?',
  '\\',
  'ä',
  '\ud800',
  '\0',
)
const hostile = fc.oneof(
  fc.string(),
  fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join('')),
)

test('arbitrary text as a path is answered or refused as a bad request', () => {
  const router = createTestRouter(row('GET', '/a/{x}'), row('GET', '/{x}'), row('POST', '/{rest*}'))
  fc.assert(
    fc.property(hostile, fc.constantFrom('GET', 'POST'), (path, method) => {
      try {
        router.find(method, `/${path}`)
      } catch (thrown) {
        assert.ok(thrown instanceof Failure)
        assert.equal(thrown.kind, 'bad_request')
      }
    }),
    { numRuns: 500 },
  )
})
