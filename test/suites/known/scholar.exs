last_digits =
  "last digits: results within the tolerance of the table, not those of the loop that printed the expectation"

there_too = {:maybe, "fails on Nx.BinaryBackend as well"}
captured = "Nx lifts captured tensors of Nx.BinaryBackend alone into a numerical definition"

%{
  "scholar/cluster/spectral_clustering_test" => %{
    captured => [
      "properties works inside jit"
    ]
  },
  "scholar/covariance/ledoit_wolf_test" => %{
    there_too => [
      "doctest Scholar.Covariance.LedoitWolf.fit/2 (1)",
      "doctest Scholar.Covariance.LedoitWolf.fit/2 (2)",
      "doctest Scholar.Covariance.LedoitWolf.fit/2 (3)"
    ]
  },
  "scholar/covariance/shrunk_covariance_test" => %{
    there_too => [
      "doctest Scholar.Covariance.ShrunkCovariance.fit/2 (1)"
    ]
  },
  "scholar/cross_decomposition/pls_svd_test" => %{
    there_too => [
      "doctest Scholar.CrossDecomposition.PLSSVD.fit/3 (1)",
      "doctest Scholar.CrossDecomposition.PLSSVD.fit_transform/3 (3)",
      "doctest Scholar.CrossDecomposition.PLSSVD.transform/4 (2)",
      "fit_transform test - :num_components set to 1",
      "fit_transform test - all options are default",
      "transform test"
    ]
  },
  "scholar/decomposition/kernel_pca_test" => %{
    there_too => [
      "doctest Scholar.Decomposition.KernelPCA.fit/2 (1)",
      "doctest Scholar.Decomposition.KernelPCA.fit_transform/2 (3)",
      "doctest Scholar.Decomposition.KernelPCA.transform/2 (2)"
    ]
  },
  "scholar/decomposition/pca_test" => %{
    {:maybe, last_digits} => [
      "doctest Scholar.Decomposition.PCA.fit/2 (1)",
      "doctest Scholar.Decomposition.PCA.fit_transform/2 (5)",
      "doctest Scholar.Decomposition.PCA.incremental_fit/2 (2)",
      "doctest Scholar.Decomposition.PCA.partial_fit/2 (3)",
      "doctest Scholar.Decomposition.PCA.transform/2 (4)"
    ]
  },
  "scholar/interpolation/bezier_spline_test" => %{
    there_too => [
      "bezier spline predict/2",
      "doctest Scholar.Interpolation.BezierSpline.fit/2 (1)"
    ],
    {:maybe, last_digits} => [
      "doctest Scholar.Interpolation.BezierSpline.predict/3 (2)"
    ]
  },
  "scholar/linear/bayesian_ridge_regression_test" => %{
    there_too => [
      "doctest Scholar.Linear.BayesianRidgeRegression.fit/3 (1)"
    ]
  },
  "scholar/linear/isotonic_regression_test" => %{
    there_too => [
      "doctest Scholar.Linear.IsotonicRegression.predict/2 (2)"
    ]
  },
  "scholar/linear/linear_regression_test" => %{
    {:maybe, last_digits} => [
      "doctest Scholar.Linear.LinearRegression.fit/3 (1)",
      "doctest Scholar.Linear.LinearRegression.predict/2 (2)",
      "fit test for shapes {1, 1}, {1, 1} and type {:f, 32} and sample_weights"
    ]
  },
  "scholar/linear/logistic_regression_test" => %{
    {:maybe, last_digits} => [
      "doctest Scholar.Linear.LogisticRegression.fit/3 (1)",
      "doctest Scholar.Linear.LogisticRegression.predict_probability/2 (3)"
    ]
  },
  "scholar/linear/polynomial_regression_test" => %{
    there_too => [
      "doctest Scholar.Linear.PolynomialRegression.fit/3 (1)",
      "doctest Scholar.Linear.PolynomialRegression.fit/3 (2)",
      "doctest Scholar.Linear.PolynomialRegression.predict/2 (3)"
    ]
  },
  "scholar/linear/ridge_regression_test" => %{
    there_too => [
      "doctest Scholar.Linear.RidgeRegression.fit/3 (1)",
      "doctest Scholar.Linear.RidgeRegression.predict/2 (2)"
    ]
  },
  "scholar/manifold/mds_test" => %{
    {:maybe, last_digits} => [
      "doctest Scholar.Manifold.MDS.fit/1 (1)",
      "doctest Scholar.Manifold.MDS.fit/2 (2)",
      "doctest Scholar.Manifold.MDS.fit/3 (3)",
      "epsilon set to a smaller then default value"
    ]
  },
  "scholar/manifold/tsne_test" => %{
    there_too => [
      "all default params",
      "doctest Scholar.Manifold.TSNE.fit/2 (1)",
      "non-default exaggeration",
      "non-default learning_rate",
      "non-default max_iter",
      "non-default metric",
      "non-default num_components",
      "non-default perplexity"
    ],
    {:maybe, "what starts at 1.0e-4, and is squared and added to 1, grows out of rounding"} => [
      "non-default init"
    ]
  },
  "scholar/metrics/classification_test" => %{
    there_too => [
      "doctest Scholar.Metrics.Classification.accuracy/3 (1)",
      "doctest Scholar.Metrics.Classification.accuracy/3 (2)",
      "doctest Scholar.Metrics.Classification.average_precision_score/4 (23)",
      "doctest Scholar.Metrics.Classification.balanced_accuracy_score/3 (14)",
      "doctest Scholar.Metrics.Classification.binary_precision/2 (4)",
      "doctest Scholar.Metrics.Classification.binary_recall/2 (6)",
      "doctest Scholar.Metrics.Classification.binary_sensitivity/2 (8)",
      "doctest Scholar.Metrics.Classification.brier_score_loss/3 (26)",
      "doctest Scholar.Metrics.Classification.cohen_kappa_score/3 (27)",
      "doctest Scholar.Metrics.Classification.cohen_kappa_score/3 (28)",
      "doctest Scholar.Metrics.Classification.confusion_matrix/3 (13)",
      "doctest Scholar.Metrics.Classification.det_curve/4 (33)",
      "doctest Scholar.Metrics.Classification.det_curve/4 (34)",
      "doctest Scholar.Metrics.Classification.f1_score/3 (18)",
      "doctest Scholar.Metrics.Classification.fbeta_score/4 (15)",
      "doctest Scholar.Metrics.Classification.log_loss/3 (29)",
      "doctest Scholar.Metrics.Classification.precision/3 (5)",
      "doctest Scholar.Metrics.Classification.precision_recall_curve/4 (22)",
      "doctest Scholar.Metrics.Classification.recall/3 (7)",
      "doctest Scholar.Metrics.Classification.roc_curve/4 (24)",
      "doctest Scholar.Metrics.Classification.sensitivity/3 (9)",
      "doctest Scholar.Metrics.Classification.specificity/3 (11)",
      "doctest Scholar.Metrics.Classification.top_k_accuracy_score/3 (30)",
      "doctest Scholar.Metrics.Classification.top_k_accuracy_score/3 (32)"
    ],
    {:maybe, last_digits} => [
      "doctest Scholar.Metrics.Classification.precision_recall_fscore_support/3 (16)"
    ]
  },
  "scholar/metrics/clustering_test" => %{
    there_too => [
      "doctest Scholar.Metrics.Clustering.silhouette_samples/3 (1)",
      "doctest Scholar.Metrics.Clustering.silhouette_samples/3 (2)",
      "doctest Scholar.Metrics.Clustering.silhouette_score/3 (3)",
      "doctest Scholar.Metrics.Clustering.silhouette_score/3 (4)"
    ]
  },
  "scholar/metrics/distance_test" => %{
    there_too => [
      "doctest Scholar.Metrics.Distance.cosine/3 (27)",
      "doctest Scholar.Metrics.Distance.cosine/3 (29)",
      "doctest Scholar.Metrics.Distance.cosine/3 (30)",
      "doctest Scholar.Metrics.Distance.euclidean/3 (4)",
      "doctest Scholar.Metrics.Distance.euclidean/3 (5)",
      "doctest Scholar.Metrics.Distance.hamming/3 (31)",
      "doctest Scholar.Metrics.Distance.hamming/3 (33)",
      "doctest Scholar.Metrics.Distance.minkowski/3 (24)",
      "doctest Scholar.Metrics.Distance.minkowski/3 (25)",
      "doctest Scholar.Metrics.Distance.pairwise_cosine/1 (42)",
      "doctest Scholar.Metrics.Distance.pairwise_cosine/2 (41)",
      "doctest Scholar.Metrics.Distance.pairwise_euclidean/1 (40)",
      "doctest Scholar.Metrics.Distance.pairwise_euclidean/2 (39)",
      "doctest Scholar.Metrics.Distance.pairwise_minkowski/3 (26)"
    ]
  },
  "scholar/metrics/neighbors_test" => %{
    there_too => [
      "doctest Scholar.Metrics.Neighbors.recall/2 (2)"
    ]
  },
  "scholar/metrics/regression_test" => %{
    captured => [
      "mean_pinball_loss/3 mean_pinball_loss with axes"
    ],
    there_too => [
      "doctest Scholar.Metrics.Regression.d2_absolute_error_score/3 (26)",
      "doctest Scholar.Metrics.Regression.d2_pinball_score/3 (27)",
      "doctest Scholar.Metrics.Regression.d2_tweedie_score/3 (23)",
      "doctest Scholar.Metrics.Regression.explained_variance_score/3 (17)",
      "doctest Scholar.Metrics.Regression.explained_variance_score/3 (22)",
      "doctest Scholar.Metrics.Regression.mean_absolute_percentage_error/3 (4)",
      "doctest Scholar.Metrics.Regression.mean_absolute_percentage_error/3 (5)",
      "doctest Scholar.Metrics.Regression.mean_gamma_deviance/3 (10)",
      "doctest Scholar.Metrics.Regression.mean_pinball_loss/3 (25)",
      "doctest Scholar.Metrics.Regression.mean_poisson_deviance/3 (8)",
      "doctest Scholar.Metrics.Regression.mean_poisson_deviance/3 (9)",
      "doctest Scholar.Metrics.Regression.mean_square_log_error/3 (3)",
      "doctest Scholar.Metrics.Regression.mean_tweedie_deviance!/4 (7)",
      "doctest Scholar.Metrics.Regression.mean_tweedie_deviance/4 (6)",
      "doctest Scholar.Metrics.Regression.r2_score/3 (11)",
      "doctest Scholar.Metrics.Regression.r2_score/3 (12)"
    ],
    {:maybe, last_digits} => [
      "mean_pinball_loss/3 mean_pinball_loss cases from sklearn"
    ]
  },
  "scholar/metrics/similarity_test" => %{
    there_too => [
      "doctest Scholar.Metrics.Similarity.binary_jaccard/3 (5)",
      "doctest Scholar.Metrics.Similarity.binary_jaccard/3 (6)",
      "doctest Scholar.Metrics.Similarity.binary_jaccard/3 (7)",
      "doctest Scholar.Metrics.Similarity.dice_coefficient/3 (10)",
      "doctest Scholar.Metrics.Similarity.dice_coefficient/3 (11)",
      "doctest Scholar.Metrics.Similarity.dice_coefficient/3 (12)",
      "doctest Scholar.Metrics.Similarity.dice_coefficient_binary/3 (13)",
      "doctest Scholar.Metrics.Similarity.dice_coefficient_binary/3 (14)",
      "doctest Scholar.Metrics.Similarity.dice_coefficient_binary/3 (15)",
      "doctest Scholar.Metrics.Similarity.jaccard/3 (1)",
      "doctest Scholar.Metrics.Similarity.jaccard/3 (3)",
      "doctest Scholar.Metrics.Similarity.jaccard/3 (4)"
    ]
  },
  "scholar/model_selection_test" => %{
    there_too => [
      "doctest Scholar.ModelSelection.cross_validate/4 (2)",
      "doctest Scholar.ModelSelection.weighted_cross_validate/5 (3)"
    ]
  },
  "scholar/naive_bayes/bernoulli_test" => %{
    there_too => [
      "doctest Scholar.NaiveBayes.Bernoulli.predict_joint_log_probability/2 (6)",
      "doctest Scholar.NaiveBayes.Bernoulli.predict_log_probability/2 (4)",
      "doctest Scholar.NaiveBayes.Bernoulli.predict_probability/2 (5)"
    ]
  },
  "scholar/naive_bayes/categorical_test" => %{
    there_too => [
      "doctest Scholar.NaiveBayes.Categorical.predict_joint_log_probability/2 (6)",
      "doctest Scholar.NaiveBayes.Categorical.predict_log_probability/2 (4)",
      "doctest Scholar.NaiveBayes.Categorical.predict_probability/2 (5)"
    ]
  },
  "scholar/naive_bayes/complement_test" => %{
    there_too => [
      "doctest Scholar.NaiveBayes.Complement.predict_joint_log_probability/2 (5)",
      "doctest Scholar.NaiveBayes.Complement.predict_log_probability/2 (3)",
      "doctest Scholar.NaiveBayes.Complement.predict_probability/2 (4)"
    ]
  },
  "scholar/naive_bayes/gaussian_test" => %{
    there_too => [
      "doctest Scholar.NaiveBayes.Gaussian.predict_joint_log_probability/2 (4)",
      "doctest Scholar.NaiveBayes.Gaussian.predict_log_probability/2 (5)"
    ]
  },
  "scholar/naive_bayes/multinomial_test" => %{
    there_too => [
      "doctest Scholar.NaiveBayes.Multinomial.predict_joint_log_probability/2 (6)",
      "doctest Scholar.NaiveBayes.Multinomial.predict_log_probability/2 (4)",
      "doctest Scholar.NaiveBayes.Multinomial.predict_probability/2 (5)"
    ],
    {:maybe, last_digits} => [
      "doctest Scholar.NaiveBayes.Multinomial.fit/3 (1)"
    ]
  },
  "scholar/neighbors/brute_knn_test" => %{
    there_too => [
      "doctest Scholar.Neighbors.BruteKNN.predict/2 (2)"
    ]
  },
  "scholar/neighbors/kd_tree_test" => %{
    there_too => [
      "doctest Scholar.Neighbors.KDTree.predict/2 (10)"
    ]
  },
  "scholar/neighbors/radius_nn_classifier_test" => %{
    there_too => [
      "doctest Scholar.Neighbors.RadiusNNClassifier.radius_neighbors/2 (4)"
    ]
  },
  "scholar/neighbors/radius_nn_regressor_test" => %{
    there_too => [
      "doctest Scholar.Neighbors.RadiusNNRegressor.radius_neighbors/2 (3)"
    ]
  },
  "scholar/preprocessing/max_abs_scaler_test" => %{
    there_too => [
      "doctest Scholar.Preprocessing.MaxAbsScaler.transform/2 (2)"
    ]
  },
  "scholar/preprocessing/min_max_scaler_test" => %{
    there_too => [
      "doctest Scholar.Preprocessing.MinMaxScaler.fit_transform/2 (4)",
      "doctest Scholar.Preprocessing.MinMaxScaler.transform/2 (2)",
      "doctest Scholar.Preprocessing.MinMaxScaler.transform/2 (3)"
    ]
  },
  "scholar/preprocessing/robust_scaler_test" => %{
    there_too => [
      "doctest Scholar.Preprocessing.RobustScaler.fit_transform/2 (3)",
      "doctest Scholar.Preprocessing.RobustScaler.transform/2 (2)"
    ]
  },
  "scholar/preprocessing/standard_scaler_test" => %{
    there_too => [
      "doctest Scholar.Preprocessing.StandardScaler.fit_transform/2 (3)",
      "doctest Scholar.Preprocessing.StandardScaler.transform/2 (2)"
    ]
  },
  "scholar/preprocessing_test" => %{
    there_too => [
      "doctest Scholar.Preprocessing.max_abs_scale/2 (2)",
      "doctest Scholar.Preprocessing.max_abs_scale/2 (3)",
      "doctest Scholar.Preprocessing.normalize/2 (11)",
      "doctest Scholar.Preprocessing.normalize/2 (12)",
      "doctest Scholar.Preprocessing.standard_scale/2 (1)"
    ]
  },
  "scholar/stats_test" => %{
    there_too => [
      "doctest Scholar.Stats.correlation_matrix/1 (4)",
      "doctest Scholar.Stats.correlation_matrix/1 (5)",
      "doctest Scholar.Stats.correlation_matrix/1 (6)",
      "doctest Scholar.Stats.kurtosis/2 (3)",
      "doctest Scholar.Stats.skew/2 (2)"
    ]
  }
}
