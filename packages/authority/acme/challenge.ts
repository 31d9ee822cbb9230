import { type Operation, type OperationContext, post } from '@warder/server'
import { GuardFailed } from '@warder/storage'
import Type from 'typebox'
import {
  accountCaller,
  byAccount,
  payloadObject,
  resourceErrors,
  resourceReply,
  resourceRow,
  signedByAcme,
} from './caller.ts'
import { type AcmeEnvironment, type AcmeServices, define } from './environment.ts'
import type { Challenge } from './identifiers.ts'
import { challengeObject } from './order.ts'
import {
  type Authorization,
  findAuthorization,
  findOrder,
  listAuthorizations,
  type Order,
  updateAuthorization,
  updateOrder,
} from './order-store.ts'
import { keyAuthorization } from './probes.ts'
import { acmeProblem, type Problem } from './problem.ts'

const attempts = 5

/**
 * `POST …/challenge/{authorization}/{type}` (RFC 8555 §7.5.1): the client has prepared the challenge. The service
 * validates it once, within the request, and replies with the result. If the service stops meanwhile, the challenge
 * stays pending and the client repeats its request.
 */
export function challengeOperation(environment: AcmeEnvironment): Operation<AcmeServices> {
  return define({
    ...resourceRow(environment),
    name: 'acme.challenge',
    reach: [],
    route: post('/acme/{authority}/challenge/{authorization}/{type}'),
    summary: 'Validate a challenge',
    access: signedByAcme,
    pathParameters: Type.Object({
      authority: Type.String(),
      authorization: Type.String(),
      type: Type.String(),
    }),
    errors: { ...resourceErrors, 429: 'Too many challenges are being validated.' },
    authenticate: byAccount(environment),
    async act({ path }, context) {
      const caller = accountCaller(context)
      const { account, urls, key, payload } = caller
      const { db, clock } = context.services
      const read = async () => {
        const found = await findAuthorization(db, path.authorization, account.id, clock.now())
        const challenge = found?.challenges.find(({ type }) => type === path.type)
        if (found === undefined || challenge === undefined)
          throw acmeProblem('notFound', 'The account has no such challenge.')
        return { found, challenge }
      }
      const reply = ({ found, challenge }: Awaited<ReturnType<typeof read>>) =>
        resourceReply(environment, urls, {
          json: challengeObject(found.id, challenge, urls),
          links: [['up', urls.authorization(found.id)]],
        })
      const { found, challenge } = await read()
      // A read, or a repeated request for a challenge that is already decided.
      if (payload.length === 0 || found.status !== 'pending') return reply({ found, challenge })
      payloadObject(caller)
      const { identifier } = found
      context.audit({ details: { identifier: identifier.value, challenge: challenge.type } })
      const problem = await environment.probes.check(challenge.type, {
        identifier,
        token: challenge.token,
        keyAuthorization: keyAuthorization(challenge.token, key.thumbprint),
      })
      context.audit({ details: { result: problem?.type ?? 'valid' } })
      for (let attempt = 1; ; attempt += 1) {
        const now = await read()
        if (now.found.status !== 'pending') return reply(now)
        try {
          return reply(await settle(context, now.found, now.challenge, problem))
        } catch (error) {
          if (!(error instanceof GuardFailed) || attempt === attempts) throw error
        }
      }
    },
  })
}

/** Writes the result of a challenge and its effect on the order, in one commit. */
async function settle(
  { services, commit }: OperationContext<AcmeServices>,
  found: Authorization,
  { error: _, ...before }: Challenge,
  problem: Problem | undefined,
) {
  const { db, clock } = services
  const now = clock.now()
  const status = problem === undefined ? 'valid' : 'invalid'
  const challenge: Challenge =
    problem === undefined ? { ...before, status, validatedAt: now } : { ...before, status, error: problem }
  const challenges = found.challenges.map((each) => (each.type === challenge.type ? challenge : each))
  const order = await findOrder(db, found.orderId, found.accountId, now)
  const to = order && orderAfter(order, await listAuthorizations(db, order.id), found, problem)
  await commit([
    updateAuthorization(found, { status, challenges }),
    // The order is written even if it does not change: of two authorizations that become valid at the same time, the
    // second then sees the first.
    ...(order === undefined ? [] : [updateOrder(order, to ?? {})]),
  ])
  return { found: { ...found, status, challenges } as const, challenge }
}

function orderAfter(
  order: Order,
  parts: readonly Authorization[],
  settled: Authorization,
  problem: Problem | undefined,
): Partial<Pick<Order, 'status' | 'error'>> | undefined {
  if (order.status !== 'pending') return undefined
  if (problem !== undefined) return { status: 'invalid', error: problem }
  const isReady = parts.every(({ id, status }) => id === settled.id || status === 'valid')
  return isReady ? { status: 'ready' } : undefined
}
