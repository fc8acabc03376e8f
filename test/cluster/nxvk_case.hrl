%% What every topic of nxvk_suite uses.

-define(X, nxvk_client).
-define(C, nxvk_case).
-define(V, {f32, {3}}).
-define(match(Pattern, Expression),
        (fun(Got) ->
             case Got of
                 Pattern -> Got;
                 _ -> exit({?MODULE, ?LINE, wanted, ??Pattern, got, Got})
             end
         end)(Expression)).
