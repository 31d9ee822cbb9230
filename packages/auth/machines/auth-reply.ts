import { type ErrorShape, errorBody, type Operation } from '@warder/server'
import Type from 'typebox'
import type { MachineServices } from './services.ts'

/** Vault-compatible clients read `errors`, a list of sentences, beside the usual members. */
export const vaultErrors: ErrorShape = {
  reply: (failure, { id }) => ({ json: { ...errorBody(failure, id), errors: [failure.message] } }),
}

const Text = Type.String()

export const MachineAuthReply = Type.Object({
  auth: Type.Object({
    client_token: Text,
    renewable: Type.Boolean(),
    lease_duration: Type.Integer(),
    policies: Type.Array(Text),
    metadata: Type.Record(Text, Text),
  }),
})

/** @param leaseDuration seconds */
export function machineAuth(
  clientToken: string,
  renewable: boolean,
  leaseDuration: number,
  policies: readonly string[],
  metadata: Readonly<Record<string, string>>,
) {
  return {
    auth: {
      client_token: clientToken,
      renewable,
      lease_duration: leaseDuration,
      policies: [...policies],
      metadata: { ...metadata },
    },
  }
}

/**
 * Adds the paths that Vault-compatible clients use: with the prefix `/v1`, and with `kubernetes` for `orchestrator`.
 * Each alias has its own name, so that the audit log records which path was used.
 */
export function withAliases(
  operations: readonly Operation<MachineServices>[],
): readonly Operation<MachineServices>[] {
  const kubernetes = operations
    .filter(({ route }) => route.path.startsWith('/auth/orchestrator/'))
    .map((operation) => ({
      ...operation,
      name: operation.name.replace('orchestrator', 'kubernetes'),
      route: {
        ...operation.route,
        path: operation.route.path.replace('/auth/orchestrator/', '/auth/kubernetes/'),
      },
    }))
  const plain = [...operations, ...kubernetes]
  const prefixed = plain.map((operation) => ({
    ...operation,
    name: `v1.${operation.name}`,
    route: { ...operation.route, path: `/v1${operation.route.path}` },
  }))
  return [...plain, ...prefixed]
}
