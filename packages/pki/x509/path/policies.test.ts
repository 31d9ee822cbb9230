import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'

import { test } from 'node:test'
import { issue, now, party } from '../../testing/authorities.ts'
import { missingOpenssl, opensslFolder, pem } from '../../testing/openssl.ts'
import { basicConstraints, type Extension, keyUsage } from '../extensions.ts'
import {
  anyPolicy,
  certificatePolicies,
  inhibitAnyPolicy,
  type PolicyMapping,
  policyConstraints,
  policyMappings,
} from '../policies.ts'
import type { PolicyWish } from './policies.ts'
import { validatePath } from './validate.ts'

const [root, one, two, leaf] = [party('root'), party('one'), party('two'), party('leaf')]
const authority = [basicConstraints(true), keyUsage(['keyCertSign'])]
const r = await issue(root, root, authority)
const [a, b, c] = ['1.3.6.1.4.1.1', '1.3.6.1.4.1.2', '1.3.6.1.4.1.3'] as const

/** Creates a chain of root, one, two and leaf, with the extensions of each. */
async function chain(ofOne: readonly Extension[], ofTwo: readonly Extension[], ofLeaf: readonly Extension[]) {
  return {
    certificate: await issue(leaf, two, [basicConstraints(false), ...ofLeaf]),
    others: [
      await issue(one, root, [...authority, ...ofOne]),
      await issue(two, one, [...authority, ...ofTwo]),
    ],
  }
}
const judged = (given: Awaited<ReturnType<typeof chain>>, policy: PolicyWish) =>
  validatePath({ ...given, anchors: [r], at: now, policy })
const has = (...policies: readonly string[]) => [certificatePolicies(policies)]

test('RFC 5280 §6.1: a policy is valid when every certificate names it', async () => {
  const same = await chain(has(a, b), has(a, c), has(a))
  assert.deepEqual(judged(same, { requireExplicit: true }).policies, [a])
  assert.equal(judged(same, { requireExplicit: true, acceptable: [a] }).validity, 'Valid')
  assert.equal(judged(same, { requireExplicit: true, acceptable: [b] }).validity, 'Invalid')
  // Without a required policy the result does not depend on policies.
  assert.equal(judged(same, { acceptable: [b] }).validity, 'Valid')
  const none = await chain(has(a), [], has(a))
  assert.equal(judged(none, {}).validity, 'Valid')
  assert.deepEqual(judged(none, {}).policies, [])
  assert.match(
    judged(none, { requireExplicit: true }).reason ?? '',
    /^No policy is valid at the certificate of CN=two/,
  )
  const demanding = await chain([...has(a), policyConstraints({ requireExplicit: 0 })], [], has(a))
  assert.equal(judged(demanding, {}).validity, 'Invalid')
})

test('anyPolicy stands for all until it is inhibited', async () => {
  const any = await chain(has(anyPolicy), has(anyPolicy), has(a))
  assert.deepEqual(judged(any, { requireExplicit: true }).policies, [a])
  assert.equal(judged(any, { requireExplicit: true, inhibitAny: true }).validity, 'Invalid')
  const all = await chain(has(anyPolicy), has(anyPolicy), has(anyPolicy))
  assert.deepEqual(judged(all, { requireExplicit: true, acceptable: [b] }).policies, [b])
  assert.deepEqual(judged(all, {}).policies, [anyPolicy])
  const inhibited = await chain([...has(anyPolicy), inhibitAnyPolicy(0)], has(anyPolicy), has(a))
  assert.equal(judged(inhibited, { requireExplicit: true }).validity, 'Invalid')
})

test('mappings translate a policy; inhibited mappings invalidate it', async () => {
  const mapped = await chain([...has(a), policyMappings([[a, b]])], has(b), has(b))
  assert.deepEqual(judged(mapped, { requireExplicit: true }).policies, [a])
  assert.equal(judged(mapped, { requireExplicit: true, acceptable: [b] }).validity, 'Invalid')
  assert.equal(judged(mapped, { requireExplicit: true, inhibitMapping: true }).validity, 'Invalid')
  const unmapped = await chain([...has(a), policyMappings([[a, b]])], has(a), has(a))
  assert.equal(judged(unmapped, { requireExplicit: true }).validity, 'Invalid')
  const wrong = await chain([...has(a), policyMappings([[anyPolicy, b]])], has(b), has(b))
  assert.match(judged(wrong, {}).reason ?? '', /maps anyPolicy/)
})

test('a certificate with too many policies is refused, so that the work is limited', async () => {
  const many = Array.from({ length: 65 }, (_each, index) => `1.3.6.1.4.1.${index}`)
  assert.equal(judged(await chain([], [], has(...many)), {}).validity, 'Invalid')
  assert.equal(judged(await chain([], has(...many), []), {}).validity, 'Unknown')
})

/** Pseudo-random numbers that are the same in every run. */
function numbers(): (below: number) => number {
  let count = 0
  return (below) => {
    count += 1
    return createHash('sha256').update(`${count}`).digest().readUInt32BE() % below
  }
}

test('OpenSSL evaluates policies in the same way, in random chains', { skip: missingOpenssl }, async () => {
  using folder = opensslFolder()
  const next = numbers()
  const some = <T>(values: readonly T[], chance: number) => values.filter(() => next(100) < chance)
  const extensions = (isAuthority: boolean): readonly Extension[] => {
    const policies = some([a, b, c, anyPolicy], 60)
    // OpenSSL maps a policy that the certificate does not name by way of anyPolicy, also where that is inhibited.
    const pairs: readonly PolicyMapping[] = [
      [a, b],
      [b, c],
      [a, c],
    ]
    const mappings = some(pairs, 25).filter(([issuer]) => policies.includes(issuer))
    return [
      ...(policies.length === 0 ? [] : [certificatePolicies(policies)]),
      ...(isAuthority && mappings.length > 0 ? [policyMappings(mappings)] : []),
      ...some([policyConstraints({ requireExplicit: next(3) })], 10),
      ...some([policyConstraints({ inhibitMapping: next(2) })], 10).slice(0, 1),
      ...some([inhibitAnyPolicy(next(2))], 10),
    ].filter(
      (each, index, all) => all.findIndex(({ identifier }) => identifier === each.identifier) === index,
    )
  }
  folder.write('root.pem', pem('CERTIFICATE', r))
  const seen = { Valid: 0, Invalid: 0, Unknown: 0 }
  for (let run = 0; run < 40; run += 1) {
    const given = await chain(extensions(true), extensions(true), extensions(false))
    folder.write('others.pem', given.others.map((der) => pem('CERTIFICATE', der)).join(''))
    folder.write('leaf.pem', pem('CERTIFICATE', given.certificate))
    const acceptable = some([a, b, c], 60)
    const wish = {
      requireExplicit: next(100) < 80,
      inhibitMapping: next(100) < 15,
      inhibitAny: next(100) < 15,
      ...(acceptable.length === 0 ? {} : { acceptable }),
    }
    const { status } = folder.run(
      ...[
        'verify',
        '-attime',
        String(now / 1000),
        '-CAfile',
        'root.pem',
        '-untrusted',
        'others.pem',
        '-policy_check',
      ],
      ...(wish.requireExplicit ? ['-explicit_policy'] : []),
      ...(wish.inhibitMapping ? ['-inhibit_map'] : []),
      ...(wish.inhibitAny ? ['-inhibit_any'] : []),
      // OpenSSL takes nothing for no policy at all.
      ...(acceptable.length === 0 ? [anyPolicy] : acceptable).flatMap((policy) => ['-policy', policy]),
      'leaf.pem',
    )
    const { validity, reason } = judged(given, wish)

    assert.equal(validity === 'Valid', status === 0, `run ${run}: ${JSON.stringify(wish)} ${reason}`)
    seen[validity] += 1
  }
  assert.ok(seen.Valid > 5 && seen.Invalid > 5, JSON.stringify(seen))
})
