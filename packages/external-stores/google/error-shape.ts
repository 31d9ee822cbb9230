import type { ErrorShape } from '@warder/server'
import Type from 'typebox'

/** Google's "Structured error replies": the status again, a sentence, and by what our log names the request. */
export const googleErrors: ErrorShape = {
  documented: {
    contentType: 'application/json',
    schema: Type.Object({ code: Type.Integer(), message: Type.String(), details: Type.String() }),
  },
  reply: ({ status, message }, { id }) => ({
    status,
    json: { code: status, message, details: `request ${id}` },
  }),
}
