import { type ErrorShape, errorBody } from '@warder/server'

/** Vault-compatible clients read `errors`, a list of sentences, beside the usual members. */
export const vaultErrors: ErrorShape = {
  reply: (failure, { id }) => ({ json: { ...errorBody(failure, id), errors: [failure.message] } }),
}
